"""A client of redis-py's Lock that takes its orders from stdin.

Arguments: PORT. Orders and answers are lines:
  try KEY TTL_MS          yes | no          TTL_MS 0: without expiry
  release                 done
  contend KEY TTL_MS TURNS KIND   done      see contest_test.go
Whatever fails is answered with: error TEXT
"""

import random
import sys
import time

import redis

client = redis.Redis(port=int(sys.argv[1]))
held = None


def attempt(key, ttl):
    global held
    lock = client.lock(key, timeout=int(ttl) / 1000 or None, blocking=False)
    if not lock.acquire():
        return "no"
    held = lock
    return "yes"


def release():
    held.release()
    return "done"


def turn(kind):
    if client.incr("contest:inside") != 1:
        client.incr("contest:overlaps")
    made = int(client.get("contest:counter") or 0) + 1
    client.set("contest:counter", made)
    client.hincrby("contest:turns", kind, 1)
    client.decr("contest:inside")


def contend(key, ttl, turns, kind):
    while int(client.get("contest:counter") or 0) < int(turns):
        lock = client.lock(key, timeout=int(ttl) / 1000, sleep=0.01)
        lock.acquire()
        turn(kind)
        lock.release()
        time.sleep(random.uniform(0, 0.02))
    return "done"


orders = {"try": attempt, "release": release, "contend": contend}
for line in sys.stdin:
    order, *arguments = line.split()
    try:
        answer = orders[order](*arguments)
    except Exception as failure:
        answer = "error %r" % failure
    print(answer, flush=True)
