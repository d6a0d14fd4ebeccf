// A client of redlock that takes its orders from stdin, in the same words as
// redispy.py. Arguments: PORT..., of all servers; the contest is at the first.
import readline from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import Redis from 'ioredis'
import Redlock, { ExecutionError } from 'redlock'

const clients = process.argv.slice(2).map((port) => new Redis(Number(port)))
const client = clients[0]
const redlock = new Redlock(clients, { retryCount: -1, retryDelay: 10, retryJitter: 5 })
redlock.on('error', () => {}) // each attempt that finds the lock held is one
let held

async function attempt(key, ttl) {
  try {
    held = await redlock.acquire([key], Number(ttl), { retryCount: 0 })
    return 'yes'
  } catch (failure) {
    if (failure instanceof ExecutionError) return 'no'
    throw failure
  }
}

async function release() {
  await held.release()
  return 'done'
}

async function turn(kind) {
  if ((await client.incr('contest:inside')) !== 1) await client.incr('contest:overlaps')
  const made = Number(await client.get('contest:counter')) + 1
  await client.set('contest:counter', made)
  await client.hincrby('contest:turns', kind, 1)
  await client.decr('contest:inside')
}

async function contend(key, ttl, turns, kind) {
  while (Number(await client.get('contest:counter')) < Number(turns)) {
    const lock = await redlock.acquire([key], Number(ttl))
    await turn(kind)
    await lock.release()
    await pause(Math.random() * 20)
  }
  return 'done'
}

const orders = { try: attempt, release, contend }
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [order, ...given] = line.split(' ')
  console.log(await orders[order](...given).catch((failure) => `error ${failure}`))
}
clients.forEach((each) => each.disconnect())
