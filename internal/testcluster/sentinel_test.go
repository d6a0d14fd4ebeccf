package testcluster

import (
	"testing"
	"time"
)

func TestSentinel(t *testing.T) {
	began := time.Now()
	s := StartSentinel(t, 2, 3, Password("one"), SentinelPassword("two"))
	t.Logf("started within %v", time.Since(began))
	if got, want := s.URL(), "redis+sentinel://:one@"+addrs(s.Sentinels())+"/mymaster"; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	first := s.Primary()
	if first != s.Servers()[0] {
		t.Errorf("primary is %s", first.Addr())
	}

	began = time.Now()
	s.Failover()
	t.Logf("failed over within %v", time.Since(began))
	second := s.Primary()
	if second == first {
		t.Error("the primary is the same after the failover")
	}
	second.Do("SET", "k", "v")

	began = time.Now()
	second.Kill()
	third := s.WaitFailover(second)
	t.Logf("crash replaced within %v", time.Since(began))
	third.Do("SET", "k", "w")
	second.Start()
	err := await(settleLimit, settleEvery, func() error { return second.follows(third) })
	if err != nil {
		t.Errorf("the old primary came back: %v", err)
	}
}

func TestSentinelTLS(t *testing.T) {
	s := StartSentinel(t, 1, 1, TLS())
	old := s.Primary()
	s.Failover()
	if s.Primary() == old {
		t.Error("the primary is the same after the failover")
	}
}
