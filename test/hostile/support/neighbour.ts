import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { assert } from 'vitest';
import type { AttackedServer } from './attacked-server.ts';
import { startBareServer } from './bare-server.ts';
import { type Latencies, wasBusy } from './busy.ts';
import { observed } from './observation.ts';
import { noProcessFiles, processorSecondsOfOthers } from './process-use.ts';
import { warmMemory } from './warm-memory.ts';

export interface LatencyLimits {
  readonly longest: number;
  /** Of the median, beyond that of a quiet server. */
  readonly medianBeyondQuiet?: number;
  /** Of the processor time of a turn; default `longest`. */
  readonly turn?: number;
}

const QUIET_MS = 300;
/** Measured for at least so long. */
const MIN_MS = 300;
/** What the worker tells at the end. */
interface Measurement {
  readonly latencies: readonly number[];
  readonly idleLatencies: readonly number[];
  readonly ownLag: number;
}

/** Someone who reads a small document of a database of its own, all the time, and measures how long it takes. */
export class Neighbour {
  readonly #server: AttackedServer;
  readonly #worker: Worker;
  readonly #idleServer: ChildProcess;
  /** Rejects when the worker fails. */
  readonly #failure: Promise<never>;

  private constructor(server: AttackedServer, worker: Worker, idleServer: ChildProcess) {
    this.#server = server;
    this.#worker = worker;
    this.#idleServer = idleServer;
    this.#failure = once(worker, 'error').then(([error]) => Promise.reject(error));
    this.#failure.catch(() => undefined);
  }

  static async moveIn(server: AttackedServer): Promise<Neighbour> {
    await server.client.must(201, 'PUT', '/neighbour');
    await server.client.must(201, 'PUT', '/neighbour/doc', { json: { text: 'a small document' } });
    return Neighbour.returnTo(server);
  }

  /** To a server where its database is already. */
  static async returnTo(server: AttackedServer): Promise<Neighbour> {
    const [idleServer, idleUrl] = await startBareServer();
    const workerData = { url: new URL('/neighbour/doc', server.url).href, idleUrl };
    const worker = new Worker(new URL('neighbour-worker.mjs', import.meta.url), { workerData });
    return new Neighbour(server, worker, idleServer);
  }

  /** What it measures while something else is under way, and what came of that. */
  async during<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly latencies: Latencies }> {
    const since = performance.now();
    const othersBefore = this.#others();
    await this.#server.beginTurns();
    await this.#ask('begin');
    const result = await work();
    const { latencies, idleLatencies, ownLag } = await this.#ask('end');
    const longestTurn = await this.#server.longestTurn();
    const others = (this.#others() - othersBefore) / ((performance.now() - since) / 1000);
    const sorted = latencies.toSorted((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
    const [longest, longestIdle] = [sorted.at(-1) ?? 0, Math.max(0, ...idleLatencies)];
    const waits = { median, longest, longestIdle, count: sorted.length, ownLag, longestTurn, others };
    observed().noteWaits(waits);
    return { result, latencies: waits };
  }

  /** In processor seconds. */
  #others(): number {
    return noProcessFiles === undefined ? processorSecondsOfOthers(this.#server.pid) : 0;
  }

  async quiet(): Promise<Latencies> {
    const { latencies } = await this.during(() => delay(QUIET_MS));
    observed().noteQuiet(latencies);
    return latencies;
  }

  async moveOut(): Promise<void> {
    await this.#worker.terminate();
    this.#idleServer.disconnect();
  }

  async #ask(message: 'begin' | 'end'): Promise<Measurement> {
    const answer = once(this.#worker, 'message');
    this.#worker.postMessage(message);
    const [value] = await Promise.race([answer, this.#failure]);
    return value;
  }
}

/** What is done beside the neighbour's reading. */
export interface Disturbance<P, T> {
  /** Done before, and not measured. */
  readonly prepare: () => Promise<P>;
  readonly disturb: (prepared: P) => Promise<T>;
}

/**
 * While something disturbs the server, the neighbour is served within the limits, and no turn of the server's thread takes more processor
 * time than it may. What other processes do on the same machine delays a server as well, and no clock can tell that
 * apart. So where the machine was seen to be busy (other processes took processor time, the measuring thread itself was kept from running, or
 * the server was late with nothing to do), all is done and measured once more; where it is busy then, too, the processor time alone counts.
 */
export async function assertUndisturbed<P, T>(
  neighbour: Neighbour,
  limits: LatencyLimits,
  disturbance: Disturbance<P, T>,
): Promise<{ readonly prepared: P; readonly result: T; readonly latencies: Latencies; readonly quiet: Latencies }> {
  const first = await measure(neighbour, limits, disturbance);
  if (first.excess.length === 0) return first;
  if (!wasBusyWhile(first, limits)) return assert.fail(describe(first));
  const second = await measure(neighbour, limits, disturbance);
  const isEvident = second.longestTurnExcess !== undefined || !wasBusyWhile(second, limits);
  if (second.excess.length > 0 && (isEvident || second.latencies.longestTurn === undefined)) {
    assert.fail(`${describe(second)}; before, on a busy machine, ${describe(first)}`);
  }
  return second;
}

function wasBusyWhile({ latencies, quiet }: Measured, limits: LatencyLimits): boolean {
  return wasBusy(latencies) || wasBusy(quiet) || quiet.longest > limits.longest / 2;
}

async function measure<P, T>(neighbour: Neighbour, limits: LatencyLimits, { prepare, disturb }: Disturbance<P, T>) {
  const prepared = await prepare();
  await warmMemory();
  const quiet = await neighbour.quiet();
  // A median of a few answers says nothing.
  const work = () => Promise.all([disturb(prepared), delay(MIN_MS)]);
  const {
    result: [result],
    latencies,
  } = await neighbour.during(work);
  const { medianBeyondQuiet = Number.POSITIVE_INFINITY } = limits;
  const { longestTurn = 0 } = latencies;
  const longestTurnExcess =
    longestTurn > (limits.turn ?? limits.longest)
      ? `a turn took ${longestTurn.toFixed(1)} ms of processor time`
      : undefined;
  const excess = [
    ...(longestTurnExcess === undefined ? [] : [longestTurnExcess]),
    ...(latencies.longest > limits.longest + latencies.longestIdle
      ? [`the longest took more than ${limits.longest} ms beyond that of an idle server`]
      : []),
    ...(latencies.median > quiet.median + medianBeyondQuiet
      ? [`the median is more than ${medianBeyondQuiet} ms beyond the quiet one`]
      : []),
  ];
  return { prepared, result, quiet, latencies, excess, longestTurnExcess };
}

interface Measured {
  readonly quiet: Latencies;
  readonly latencies: Latencies;
  readonly excess: readonly string[];
  readonly longestTurnExcess: string | undefined;
}

function describe({ quiet, latencies, excess }: Measured): string {
  return `${excess.join(', ')}: ${show(latencies)} (quiet: ${show(quiet)})`;
}

function show({ median, longest, longestIdle, count, ownLag, longestTurn, others }: Latencies): string {
  const answers = `median ${median.toFixed(1)} ms, longest ${longest.toFixed(1)} ms of ${count}, ${longestIdle.toFixed(1)} ms of an idle server`;
  const turn = longestTurn === undefined ? '' : `, longest turn ${longestTurn.toFixed(1)} ms`;
  return `${answers}${turn}, own lag ${ownLag.toFixed(1)} ms, other processes ${others.toFixed(1)}`;
}
