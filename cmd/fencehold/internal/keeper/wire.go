//go:build unix

package keeper

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// kind tells what a message says. Those of the wrapper are capitals, those of
// the keeper are small letters.
type kind byte

const (
	msgStart    kind = 'S' // a command; with it comes the lock's descriptor
	msgDeadline kind = 'D' // a new end of the lease
	msgSignal   kind = 'K' // pass a signal on
	msgStop     kind = 'X' // end the command
	msgSuspend  kind = 'Z' // the wrapper is about to stop itself
	msgResume   kind = 'C' // the wrapper was continued and has the lock

	msgStarted kind = 's' // number of the command's process
	msgFailed  kind = 'f' // errno of the exec
	msgExited  kind = 'e' // wait status of the command
	msgOverdue kind = 'o' // the lease was about to end: TERM was sent
	msgKilled  kind = 'k' // KILL was sent
	msgGone    kind = 'g' // nobody is left
)

// maxPayload is more than the kernel lets a program take as arguments and
// environment.
const maxPayload = 16 << 20

// headerSize is the kind and the length of the payload.
const headerSize = 5

// A message is one frame on the socket between wrapper and keeper.
type message struct {
	kind kind
	data []byte
	file int // descriptor that travels along, -1 for none
}

// number is a message whose payload is the integers ns.
func number(k kind, ns ...int64) message {
	m := message{kind: k, file: -1}
	for _, n := range ns {
		m.data = binary.LittleEndian.AppendUint64(m.data, uint64(n))
	}
	return m
}

// int returns the i-th integer of the payload, 0 if there is none.
func (m message) int(i int) int64 {
	if len(m.data) < 8*(i+1) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(m.data[8*i:]))
}

// A socket is one end of the connection between wrapper and keeper.
type socket struct {
	file *os.File
	conn syscall.RawConn
}

// newSocket takes over a descriptor. Nobody else may have a copy of it.
// The poller of the runtime waits for it, so that neither side spends a thread.
func newSocket(fd int) (*socket, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "keeper")
	conn, err := file.SyscallConn()
	return &socket{file, conn}, err
}

// send writes m. It blocks only if the other side does not read for so long
// that the socket is full.
func (s *socket) send(m message) error {
	frame := append([]byte{byte(m.kind), 0, 0, 0, 0}, m.data...)
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(m.data)))
	var rights []byte
	if m.file >= 0 {
		rights = unix.UnixRights(m.file)
	}
	for len(frame) > 0 {
		var n int
		var err error
		failed := s.conn.Write(func(fd uintptr) bool {
			// The descriptor goes with the first bytes, once: a second copy after a
			// short write would never be closed.
			n, err = unix.SendmsgN(int(fd), frame, rights, nil, unix.MSG_NOSIGNAL)
			return !again(err)
		})
		if err = cmp.Or(failed, err); err != nil {
			return fmt.Errorf("message %q: %w", m.kind, err)
		}
		frame, rights = frame[n:], nil
	}
	return nil
}

// offer sends a short message unless the socket is full. It is not sent in part:
// the kernel takes so few bytes as a whole.
func (s *socket) offer(m message) {
	frame := append([]byte{byte(m.kind), 0, 0, 0, 0}, m.data...)
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(m.data)))
	_ = s.conn.Control(func(fd uintptr) {
		_, _ = unix.SendmsgN(int(fd), frame, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	})
}

// again reports whether a call has to be repeated when the socket is ready.
func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

// receive reads one message; io.EOF says that the other side is gone. A
// descriptor that comes along is close-on-exec.
func (s *socket) receive() (message, error) {
	m := message{file: -1}
	var header [headerSize]byte
	if err := s.fill(&m, header[:]); err != nil {
		return m, err
	}
	m.kind = kind(header[0])
	size := binary.LittleEndian.Uint32(header[1:])
	if size > maxPayload {
		return m, fmt.Errorf("message %q: %d bytes are more than %d", m.kind, size, maxPayload)
	}
	m.data = make([]byte, size)
	return m, s.fill(&m, m.data)
}

// fill reads until to is full, and takes descriptors that come along. The kernel
// never joins the bytes of two messages across a descriptor.
func (s *socket) fill(m *message, to []byte) error {
	rights := make([]byte, unix.CmsgSpace(4))
	for len(to) > 0 {
		var n, oobn int
		var err error
		failed := s.conn.Read(func(fd uintptr) bool {
			// False makes it wait until the socket is ready, and then try again.
			n, oobn, _, _, err = unix.Recvmsg(int(fd), to, rights, recvFlags)
			return !again(err)
		})
		if err = cmp.Or(failed, err); err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
		if oobn > 0 {
			m.take(rights[:oobn])
		}
		to = to[n:]
	}
	return nil
}

// shut ends one or both directions.
// Unlike a close, the other side sees it even while a copy of the descriptor is open.
func (s *socket) shut(how int) error {
	var err error
	failed := s.conn.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), how) })
	return cmp.Or(failed, err)
}

// take keeps the descriptor of a message. There is at most one.
// Between the call that received it and the flag lies a gap in which a fork would let
// it leak where there is no MSG_CMSG_CLOEXEC: the keeper forks in one place only.
func (m *message) take(oob []byte) {
	control, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range control {
		fds, err := unix.ParseUnixRights(&control[i])
		if err == nil && len(fds) > 0 {
			unix.CloseOnExec(fds[0])
			m.file = fds[0]
		}
	}
}
