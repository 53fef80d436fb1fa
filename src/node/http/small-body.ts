import type { IncomingMessage } from 'node:http';
import type { DatabaseError } from '../../base/errors/database-error.ts';
import { gaveWay, tooBusy } from '../../base/errors/too-busy.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';
import { ArrivalWatch, type BodyRules, interrupted, toBytes } from './body-rules.ts';

/** As the core counts bodies that it reads itself. */
const MEMORY_PER_BYTE = 4;

/** Collects a body in one piece. Resolves when its last byte arrives, without waiting for the stream's `end`. */
export function collectBody(incoming: IncomingMessage, length: number, rules: BodyRules): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    new SmallBody(incoming, length, rules, { resolve, reject }).listen();
  });
}

interface Outcome {
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (failure: DatabaseError) => void;
}

class SmallBody {
  readonly #incoming: IncomingMessage;
  readonly #length: number;
  readonly #rules: BodyRules;
  readonly #outcome: Outcome;
  readonly #watch: ArrivalWatch;
  /** Put together at the end: bodies that wait for their memory must not have all of it yet. */
  #chunks: Buffer[] = [];
  #lease: ByteLease | undefined;
  #filled = 0;
  #isOver = false;

  constructor(incoming: IncomingMessage, length: number, rules: BodyRules, outcome: Outcome) {
    this.#incoming = incoming;
    this.#length = length;
    this.#rules = rules;
    this.#outcome = outcome;
    this.#watch = new ArrivalWatch(rules.leastRate?.() ?? 0, (failure) => this.#refuse(failure));
  }

  listen(): void {
    const incoming = this.#incoming;
    this.#watch.wait();
    incoming.on('data', (chunk: Buffer) => this.#take(chunk));
    incoming.on('error', (error) => this.#fail(interrupted(this.#filled, error)));
    // `close` also comes after a complete body, and creating an error is slow.
    incoming.on('close', () => {
      if (!this.#isOver) this.#fail(interrupted(this.#filled));
    });
  }

  #take(chunk: Buffer): void {
    // The rest of a refused body is dropped.
    if (this.#isOver) return;
    this.#watch.came(chunk.length);
    if (chunk.length === this.#length) {
      this.#end(toBytes(chunk));
      return;
    }
    this.#chunks.push(chunk);
    this.#filled += chunk.length;
    if (this.#filled === this.#length) this.#end(this.#putTogether());
    else if (this.#count(chunk.length)) this.#goOn();
  }

  #putTogether(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [];
    return bytes;
  }

  #end(bytes: Uint8Array): void {
    this.#isOver = true;
    this.#lease?.ownTurn();
    if (this.#lease !== undefined) this.#lease.giveWay = undefined;
    this.#outcome.resolve(bytes);
  }

  /** Returns whether the next bytes may come. Nothing more is read while it waits for its memory. */
  #count(bytes: number): boolean {
    this.#lease ??= this.#openLease();
    const lease = this.#lease;
    lease?.ownTurn(bytes);
    const isGranted = lease?.arrive(bytes, MEMORY_PER_BYTE) ?? true;
    if (isGranted === true) return true;
    this.#incoming.pause();
    void Promise.resolve(isGranted).then((isLate) => {
      if (!isLate) this.#refuse(tooBusy());
      else if (!this.#isOver) this.#goOn();
      this.#incoming.resume();
    });
    return false;
  }

  #goOn(): void {
    this.#watch.wait();
    this.#lease?.theirTurn();
  }

  #openLease(): ByteLease | undefined {
    const lease = this.#rules.lease?.();
    if (lease === undefined) return undefined;
    lease.expect(this.#length * MEMORY_PER_BYTE);
    lease.giveWay = () => this.#refuse(gaveWay());
    return lease;
  }

  /** The connection ends with the response. */
  #refuse(failure: DatabaseError): void {
    if (this.#isOver) return;
    this.#rules.onSilence?.();
    this.#fail(failure);
  }

  #fail(failure: DatabaseError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#chunks = [];
    this.#watch.came(0);
    this.#outcome.reject(failure);
  }
}
