/**
 * What is observed of each test, for the table at the end: the memory that its servers gained, how long a neighbour waited, and what the attacker got. What a
 * test measures itself (`highestMemory`, `Neighbour`, `attack`) counts; else its servers are watched from the test's beginning, or from theirs.
 */
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, assert, beforeEach } from 'vitest';
import { type Latencies, wasBusy } from './busy.ts';
import { addRow } from './figures-table.ts';
import { takeGained } from './gained-memory.ts';
import { anonymousMemory, megabytes, noProcessFiles } from './process-use.ts';

const POLL_MS = 50;
const SHOWN_STATUSES = 5;
const LATE_MS = 2_000;

/** A server, as far as it is watched. */
export interface Watched {
  readonly pid: number;
  readonly isRunning: boolean;
  beginTurns(): Promise<void>;
  longestTurn(): Promise<number | undefined>;
}

class Observation {
  readonly #before = new Map<number, number>();
  readonly #statuses = new Map<string, number>();
  #bytes = 0;
  #highest = 0;
  #latencies: Latencies | undefined;
  #quiet: Latencies | undefined;
  #turn: number | undefined;
  #got: string | undefined;
  #bytesGained: number | undefined;
  #permitted: Permitted | undefined;

  /** For the test that runs. */
  permit(permitted: Permitted): void {
    this.#permitted = permitted;
  }

  /** In what it exceeded the bounds. On a machine that is busy with other things the processor time of turns counts alone. */
  get excess(): readonly string[] {
    const { bytes = MAX_BYTES, ms: longest = MAX_MS, waitMs = longest } = this.#permitted ?? {};
    const gained = this.#gained();
    const waits = this.#latencies;
    const turn = Math.max(waits?.longestTurn ?? 0, this.#turn ?? 0);
    const isBusy = waits !== undefined && wasBusy(waits);
    return [
      ...(gained > bytes ? [`the server gained ${megabytes(gained)} of memory, of ${megabytes(bytes)}`] : []),
      ...(turn > longest ? [`a turn took ${ms(turn)} of processor time, of ${ms(longest)}`] : []),
      ...(waits !== undefined && !isBusy && waits.longest > waitMs + waits.longestIdle
        ? [
            `a neighbour waited for ${ms(waits.longest)}, of ${ms(waitMs)} and ${ms(waits.longestIdle)} as beside an idle server`,
          ]
        : []),
    ];
  }

  #gained(): number {
    this.#bytesGained ??= Math.max(0, takeGained() ?? this.#highest);
    return this.#bytesGained;
  }

  watch(pid: number): void {
    const memory = memoryOf(pid);
    if (memory !== undefined && !this.#before.has(pid)) this.#before.set(pid, memory);
  }

  look(): void {
    for (const [pid, before] of this.#before) this.#highest = Math.max(this.#highest, (memoryOf(pid) ?? 0) - before);
  }

  noteWaits(latencies: Latencies): void {
    if (latencies.longest >= (this.#latencies?.longest ?? 0)) this.#latencies = latencies;
  }

  noteQuiet(latencies: Latencies): void {
    this.#quiet = latencies;
    // It was measured as any other time.
    if (this.#latencies === latencies) this.#latencies = undefined;
  }

  /** The longest turn of a server's thread; undefined where it did not tell. */
  noteTurn(turn: number | undefined): void {
    if (turn !== undefined) this.#turn = Math.max(this.#turn ?? 0, turn);
  }

  noteAnswer(status: number, bytes: number): void {
    this.#statuses.set(`${status}`, (this.#statuses.get(`${status}`) ?? 0) + 1);
    this.#bytes += bytes;
  }

  noteOutcome(got: string): void {
    this.#got = got;
  }

  /** To be asked when the test has ended, as is `excess`. */
  get memory(): string {
    return noProcessFiles === undefined ? megabytes(this.#gained()) : 'not told here';
  }

  get wait(): string {
    const latencies = this.#latencies;
    const turn = this.#turn;
    if (latencies === undefined) return turn === undefined ? 'not measured' : `none asked; longest turn ${ms(turn)}`;
    const before = this.#quiet === undefined ? '' : `, ${ms(this.#quiet.longest)} before`;
    const longestTurn = latencies.longestTurn === undefined ? '' : `, longest turn ${ms(latencies.longestTurn)}`;
    return `${ms(latencies.longest)}, ${ms(latencies.longestIdle)} beside an idle server${before}${longestTurn}`;
  }

  get got(): string {
    if (this.#got !== undefined) return this.#got;
    if (this.#statuses.size === 0) return 'nothing';
    const counts = [...this.#statuses].sort(([, one], [, other]) => other - one);
    const shown = counts.slice(0, SHOWN_STATUSES).map(([status, count]) => `${count} × ${status}`);
    return `${shown.join(', ')}; ${this.#bytes} bytes`;
  }
}

/**
 * What every test is held to: the default of `httpd/max_bytes_in_flight` and 100 MB, and how long the thread may be kept, or a neighbour longer
 * than one of an idle server at the same time.
 */
const MAX_BYTES = 268_435_456 + 100_000_000;
export const MAX_MS = 100;

/** Where a test may exceed them, and why: the table shows what was measured all the same. */
export interface Permitted {
  readonly bytes?: number;
  /** Of a turn, and of a neighbour's wait. */
  readonly ms?: number;
  /** Of a neighbour's wait alone. */
  readonly waitMs?: number;
  readonly because: string;
}

const ms = (value: number): string => `${Math.round(value)} ms`;

function memoryOf(pid: number): number | undefined {
  if (noProcessFiles !== undefined) return undefined;
  try {
    const bytes = anonymousMemory(pid);
    // A process that is about to end has none.
    return Number.isNaN(bytes) ? undefined : bytes;
  } catch {
    // The process has ended.
    return undefined;
  }
}

let current = new Observation();
/** Whether their turns are measured. */
const servers = new Map<Watched, boolean>();

/** Of the test that runs. */
export function observed(): Observation {
  return current;
}

/** From its start on. */
export async function watchServer(server: Watched, measuresTurns: boolean): Promise<void> {
  servers.set(server, measuresTurns);
  current.watch(server.pid);
  if (measuresTurns) await server.beginTurns();
}

/** Before it ends. */
export async function unwatchServer(server: Watched): Promise<void> {
  const measuresTurns = servers.get(server) === true;
  servers.delete(server);
  if (measuresTurns) await noteTurn(server);
}

/** A server that does not answer soon is held by what the test did; that is for the test to find. */
async function noteTurn(server: Watched): Promise<void> {
  if (!server.isRunning) return;
  const late = delay(LATE_MS, undefined, { ref: false });
  current.noteTurn(await Promise.race([server.longestTurn().catch(() => undefined), late]));
}

/** Has each test of this file make a row. */
export function observeTests(): void {
  let poll: ReturnType<typeof setInterval> | undefined;
  beforeEach(async () => {
    takeGained();
    current = new Observation();
    poll = setInterval(() => current.look(), POLL_MS);
    for (const [server, measuresTurns] of servers) {
      if (!server.isRunning) continue;
      current.watch(server.pid);
      if (measuresTurns) await server.beginTurns();
    }
  });
  afterEach(async ({ task }) => {
    clearInterval(poll);
    current.look();
    for (const [server, measuresTurns] of servers) if (measuresTurns) await noteTurn(server);
    const name = task.suite === undefined ? task.name : `${task.suite.name}: ${task.name}`;
    const { memory, wait, got, excess } = current;
    const state = task.result?.state === 'fail' || excess.length > 0 ? 'failed' : 'passed';
    addRow({ file: basename(task.file.name), attack: name, outcome: state, memory, wait, got });
    assert.isEmpty(excess, excess.join('; '));
  });
}
