import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionPool } from '../connection-pool.ts';
import { Pause } from '../members/lease-times.ts';
import { storageUnreachable } from '../postgres-errors.ts';
import type { FollowerBeat, FollowerRows } from './follower-rows.ts';

/** Beats in a period: some may fail before the holds are lost. */
const BEATS = 6;
/** How long after the end of a hold an owner that waits for it is told, in milliseconds: more may end until then. */
const TELL_MS = 10;
const MAX_PAUSE_MS = 100;

/** Keeps the pages of a state of a file from being dropped. */
export interface Hold {
  readonly registration: Registration;
  /**
   * To be called with the generation that the state was read with, and again if it is still the present state with a later generation. Returns false if it is not held: the follower was silent for too long, or the
   * database has gone back to an earlier state.
   */
  confirm(generation: number): boolean;
  release(): void;
}

interface RegistrationOptions {
  /** One connection of its own: a beat must not wait for other statements. */
  readonly pool: ConnectionPool;
  readonly rows: FollowerRows;
  readonly leaseMs: number;
}

/**
 * The row of a follower, a process that reads files beside their owners. Owners drop pages after the states that refer to them have passed everywhere.
 *
 * An owner that waits raises the generation of the storage. A state that was read with that generation or a higher one was read after the owner's last
 * commit. The row says how far the follower has passed: the lowest generation of the states that it holds, or may read at the moment. It is written at
 * each beat, and when an owner waits for it. Before a hold knows its own generation, it has the highest one that was known before its state was read,
 * which is not higher. So what the row says only grows, and is never above that of a hold, whatever the order in which statements are carried out.
 *
 * A follower whose `beats` stay the same for a whole lease counts as gone; the owner measures that (awaited-followers.ts). The follower's own lease ends
 * after two thirds, counted from before it sent the last beat that succeeded, so it always ends first. No clocks are compared.
 */
export class Registration {
  readonly #options: RegistrationOptions;
  readonly #id = crypto.randomUUID();
  readonly #holds = new Set<HeldGeneration>();
  /** The highest generation that is known to have been there. */
  #generation = 0;
  #passed = 0;
  #isLost = false;
  #isAwaited = true;
  /** When the beat that succeeded last was sent, by the clock that never jumps, and by the one that goes on while a machine is suspended. */
  #beatAt = times();
  #beating: Promise<void> = Promise.resolve();
  readonly #pause = new Pause();
  #isDue = false;
  #telling: NodeJS.Timeout | undefined;

  private constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  /** `patienceS`: how many seconds commits that have begun before may take. */
  static async open(options: RegistrationOptions, patienceS: number): Promise<Registration> {
    const registration = new Registration(options);
    const { pool, rows, leaseMs } = options;
    const registered = await pool.repeat('registering as a follower', (connection) => {
      registration.#beatAt = times();
      return rows.register(connection, registration.#id, leaseMs);
    });
    registration.#note(registered);
    registration.#passed = registered.generation;
    registration.#beating = registration.#beat();
    try {
      await whenWritersEnded(options, patienceS);
    } catch (error) {
      await registration.close();
      throw error;
    }
    return registration;
  }

  /** Whether its holds hold. */
  get isLive(): boolean {
    return !this.#isLost && this.#sinceBeat() < (this.#options.leaseMs * 2) / 3;
  }

  /** Whether the owner of the storage waits for followers. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** To be called before the state is read. */
  hold(): Hold {
    const known = this.#generation;
    const held = { generation: known };
    this.#holds.add(held);
    return {
      registration: this,
      confirm: (generation) => {
        if (generation < known) this.#isLost = true;
        if (!this.isLive) return false;
        held.generation = Math.max(held.generation, generation);
        this.#generation = Math.max(this.#generation, generation);
        this.#tellSoon();
        return true;
      },
      release: () => {
        if (this.#holds.delete(held)) this.#tellSoon();
      },
    };
  }

  /** Makes a beat now: an owner may wait although this process has read nothing since. */
  tell(): void {
    this.#isDue = true;
    this.#pause.end();
  }

  /** Ends all holds. */
  async close(): Promise<void> {
    this.#isLost = true;
    this.#pause.end();
    await this.#beating;
    const { pool, rows } = this.#options;
    // If the database server can't be reached, owners find it silent.
    await pool.use((connection) => rows.leave(connection, this.#id)).catch(() => undefined);
  }

  get #lowest(): number {
    let lowest = this.#generation;
    for (const { generation } of this.#holds) lowest = Math.min(lowest, generation);
    return lowest;
  }

  #tellSoon(): void {
    if (this.#telling !== undefined || this.#isLost || this.#generation === this.#passed) return;
    this.#telling = setTimeout(() => {
      this.#telling = undefined;
      if (this.#lowest > this.#passed) this.tell();
    }, TELL_MS).unref();
  }

  #note({ generation, isAwaited }: FollowerBeat): void {
    this.#generation = Math.max(this.#generation, generation);
    this.#isAwaited = isAwaited;
  }

  #sinceBeat(): number {
    const { steady, wall } = this.#beatAt;
    return Math.max(performance.now() - steady, Date.now() - wall);
  }

  async #beat(): Promise<void> {
    while (!this.#isLost) {
      await this.#pause.begin(this.#options.leaseMs / BEATS, this.#isLost || this.#isDue);
      this.#isDue = false;
      if (!this.#isLost) await this.#beatOnce();
    }
  }

  async #beatOnce(): Promise<void> {
    const { pool, rows } = this.#options;
    const [before, passed] = [times(), this.#lowest];
    try {
      const beat = await pool.use((connection) => rows.beat(connection, this.#id, passed));
      if (beat === undefined) {
        this.#isLost = true;
        return;
      }
      this.#note(beat);
      [this.#beatAt, this.#passed] = [before, passed];
      if (!beat.isAwaited) this.#isLost = true;
      // It may have learnt that an owner waits.
      if (this.#lowest > passed) this.#isDue = true;
    } catch {
      // The next beat may succeed.
      if (!this.isLive) this.#isLost = true;
    }
  }
}

interface HeldGeneration {
  generation: number;
}

/**
 * Waits until the commits have ended that may not see the row of this follower: their owners drop pages without waiting for it, so its first state must
 * be one after them. PostgreSQL locks the tables of a statement before it takes the snapshot that the statement sees, and unlocks them when what it
 * did can be seen. So these commits are among those that hold a lock now. No one waits for the follower meanwhile.
 */
async function whenWritersEnded({ pool, rows }: RegistrationOptions, patienceS: number): Promise<void> {
  const until = performance.now() + patienceS * 1000;
  const ask = () => pool.repeat('registering as a follower', (connection) => rows.writers(connection));
  const writers = await ask();
  for (let pauseMs = 1; writers.size > 0; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    if (performance.now() > until)
      throw storageUnreachable('following its files', patienceS, new Error('a commit that began before goes on'));
    await wait(pauseMs);
    const present = await ask();
    for (const writer of writers) if (!present.has(writer)) writers.delete(writer);
  }
}

function times() {
  return { steady: performance.now(), wall: Date.now() };
}
