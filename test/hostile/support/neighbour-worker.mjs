/**
 * Asks for one document again and again, from a thread of its own, so that what the test's thread does beside it is not measured.
 * The parent says `begin` and `end`, and gets `{latencies, ownLag}`: milliseconds of each answer between the two, and the longest time
 * for which this thread itself was kept from running.
 */
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';

const INTERVAL_MS = 5;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let latencies = [];
let ownLag = 0;
let lastTick = performance.now();
let current = Promise.resolve();

setInterval(() => {
  const now = performance.now();
  ownLag = Math.max(ownLag, now - lastTick - INTERVAL_MS);
  lastTick = now;
}, INTERVAL_MS);

parentPort.on('message', async (message) => {
  // The answer that is under way belongs to the time before.
  if (message === 'begin') {
    latencies = [];
    ownLag = 0;
    parentPort.postMessage('begun');
  } else {
    await current;
    parentPort.postMessage({ latencies, ownLag });
  }
});

for (;;) {
  current = ask();
  const latency = await current;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, INTERVAL_MS - latency)));
}

/** The latency, which is also noted. A connection that breaks is a failure of the server, and ends this thread with an error. */
async function ask() {
  const from = performance.now();
  await new Promise((resolve, reject) => {
    const outgoing = request(workerData.url, { agent }, (incoming) => {
      if (incoming.statusCode !== 200) reject(new Error(`${workerData.url} was answered with ${incoming.statusCode}`));
      incoming.on('end', resolve).on('error', reject).resume();
    });
    outgoing.on('error', reject).end();
  });
  const latency = performance.now() - from;
  // While an answer is late, the next questions are not asked: those that would have been wait for what is left of that time.
  for (let rest = latency; rest > 0; rest -= INTERVAL_MS) latencies.push(rest);
  return latency;
}
