// Package topic holds the help pages that belong to no command.
package topic

// ExitCodes says what each exit code means.
const ExitCodes = `Exit codes of fencehold:

  0..255   run: the exit code of the command
  128+N    run: the command was ended by signal N
  64       wrong flags or URL, or not supported by this lock service
  69       lock service not reachable
  70       internal error
  73       local lock file cannot be made
  75       lock not acquired: it is held, or the time of -w ran out (-E sets this code)
  77       lock service refused the credentials
  78       configuration file is wrong
  79       lock lost while the command ran, which was stopped (--lost-exit-code sets
           this code); renew, release, check, unlock: not held by the holder named
  126      command cannot be executed; found out before the lock is taken
  127      command not found; found out before the lock is taken
  128+N    signal N came while waiting for the lock

With --on-lost warn, a lost lock gives the command's exit code unless that is 0, then 79.
With --max-hold, a command that was stopped gives 79.
Any of these numbers can be the command's own: --status-file tells them apart.

  systemd      SuccessExitStatus=75
  cron         fencehold run -n -E 0 ...
`

// URLs says how lock services are named.
const URLs = `URLs of lock services:

  file://              this machine, no server: .local/state/fencehold in the home
                       directory of the user database. This is the default.
  file:///DIR          this machine, in the directory DIR
  mem://               this process alone, for tests

The URL is taken from --url, FENCEHOLD_URL, or url in the configuration file. There,
${NAME} stands for a variable of the environment, and password_file names a file
that holds the password, so that it stands neither in the file nor in the list of
processes.
`

// Env lists the variables that are read and given.
const Env = `Environment that fencehold run gives to its command:

  FENCEHOLD_LOCK         name of the lock
  FENCEHOLD_TOKEN        fencing token: larger with each grant of this lock
  FENCEHOLD_HOLDER       random id of this grant
  FENCEHOLD_FENCE        all three, as in the header Fencing-Token
  FENCEHOLD_BACKEND      URL of the lock service, without password
  FENCEHOLD_TTL_MS       how long the lock outlives this machine, in milliseconds
  FENCEHOLD_ACQUIRED_AT  when the lock was acquired (RFC 3339)
  FENCEHOLD_STACK        NAME=TOKEN;BACKEND of this and all outer runs

Environment that fencehold reads; a flag counts more, a configuration file less:

  FENCEHOLD_URL  FENCEHOLD_TTL  FENCEHOLD_KILL_AFTER  FENCEHOLD_OWNER
  FENCEHOLD_PASSWORD_FILE  FENCEHOLD_LOG_FORMAT  FENCEHOLD_CONFIG  FENCEHOLD_PROFILE
`
