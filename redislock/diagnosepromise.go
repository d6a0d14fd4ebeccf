package redislock

import (
	"fmt"

	"github.com/fencehold/fencehold/driver"
)

// restarts say what a restart of the one server does to locks.
var restarts = map[persistence]string{
	unknownPersistence: "what a restart forgets is not to be seen here; assume every lock",
	keepsNothing:       "a restart forgets every lock",
	keepsSnapshots:     "a restart forgets the locks granted since the last snapshot",
	keepsSeconds:       "a crash of the machine can forget the locks of the last second or more",
	keepsAll:           "a restart forgets no grant that a client knows of",
}

// promise says in plain words what a lock is worth here.
func (e *examination) promise(all []*examination) {
	e.found(driver.GradeNote, "promise", "one holder at a time, by time, while the server keeps its memory and its clock "+
		"runs at the right rate")
	if e.b.conn.Mode() == Single {
		e.promiseOfRestart(all[0].persistence())
	} else {
		e.promiseOfFailover()
	}
	e.found(driver.GradeNote, "promise", "fencing tokens go on rising through restarts and failovers, by the server's "+
		"clock: a check of the token where the write lands refuses the older holder")
}

// forgotten says what follows where a lock is forgotten.
const forgotten = "another client can then be granted a lock while its holder goes on, until the holder's next renewal"

func (e *examination) promiseOfRestart(p persistence) {
	text := restarts[p]
	if p != keepsAll {
		text += ": " + forgotten
	}
	e.found(driver.GradeNote, "promise", "%s", text)
}

func (e *examination) promiseOfFailover() {
	text := "replicas learn of a grant a moment later, so a failover can forget the last ones"
	if n := e.b.opts.MinReplicas; n > 0 {
		text = fmt.Sprintf("a grant counts once %s confirmed it, which makes it unlikely and not impossible that a "+
			"failover forgets it", haveOf(n))
	} else {
		text += " (min_replicas in the URL makes that less likely)"
	}
	e.found(driver.GradeNote, "promise", "%s: %s", text, forgotten)
}

// haveOf writes how many replicas have done something.
func haveOf(n int) string {
	if n == 1 {
		return "1 replica has"
	}
	return fmt.Sprintf("%d replicas have", n)
}
