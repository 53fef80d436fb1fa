/**
 * Asks for one document again and again, from a thread of its own, so that what the test's thread does beside it is not measured; and an idle
 * server, too. The parent says `begin` and `end`, and gets `{latencies, idleLatencies, ownLag}`: milliseconds of each answer between the two,
 * and the longest time for which this thread itself was kept from running.
 */
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';

const INTERVAL_MS = 5;

class Neighbour {
  latencies = [];
  current = Promise.resolve();
  #url;
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url) {
    this.#url = url;
  }

  async askAlways() {
    for (;;) {
      this.current = this.#ask();
      const latency = await this.current;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, INTERVAL_MS - latency)));
    }
  }

  /** The latency, which is also noted. A connection that breaks is a failure of the server, and ends this thread with an error. */
  async #ask() {
    const from = performance.now();
    await new Promise((resolve, reject) => {
      const outgoing = request(this.#url, { agent: this.#agent }, (incoming) => {
        if (incoming.statusCode !== 200) reject(new Error(`${this.#url} was answered with ${incoming.statusCode}`));
        incoming.on('end', resolve).on('error', reject).resume();
      });
      outgoing.on('error', reject).end();
    });
    const latency = performance.now() - from;
    // While an answer is late, the next questions are not asked: those that would have been wait for what is left of that time.
    for (let rest = latency; rest > 0; rest -= INTERVAL_MS) this.latencies.push(rest);
    return latency;
  }
}

let ownLag = 0;
let lastTick = performance.now();
const neighbours = [new Neighbour(workerData.url), new Neighbour(workerData.idleUrl)];

setInterval(() => {
  const now = performance.now();
  ownLag = Math.max(ownLag, now - lastTick - INTERVAL_MS);
  lastTick = now;
}, INTERVAL_MS);

parentPort.on('message', async (message) => {
  // The answers that are under way belong to the time before.
  if (message === 'begin') {
    for (const neighbour of neighbours) neighbour.latencies = [];
    ownLag = 0;
    parentPort.postMessage('begun');
  } else {
    await Promise.all(neighbours.map(({ current }) => current));
    const [latencies, idleLatencies] = neighbours.map((neighbour) => neighbour.latencies);
    parentPort.postMessage({ latencies, idleLatencies, ownLag });
  }
});

await Promise.all(neighbours.map((neighbour) => neighbour.askAlways()));
