/**
 * Which programs have an engine. Bounded: the engine that was not used for the longest time makes room, and its instance
 * serves the next one. Engines are in use within one turn only, so that any may be taken between the turns, but for those
 * in which lists wait: these are held, and make room only where there would be twice as many engines else.
 */
import { DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import type { Clock } from '../shared/clock.ts';
import { Engine, type EngineOptions } from './engine.ts';
import type { Instance, InstanceFactory } from './instance.ts';

/** Whom an engine belongs to. */
export interface EngineOwner {
  readonly options: EngineOptions;
}

/** An instance that grew beyond this is not used again: WebAssembly memory never shrinks. */
const MAX_KEPT_BYTES = 48 * 1024 * 1024;

export class EnginePool {
  readonly #factory: InstanceFactory;
  readonly #clock: Clock;
  readonly #maxEngines: number;
  /** In the order of their last use. */
  readonly #engines = new Map<EngineOwner, Engine>();
  /** Lists that wait in an engine. */
  readonly #holds = new Map<Engine, number>();
  #spare: Instance | undefined;
  #isClosed = false;

  constructor(factory: InstanceFactory, clock: Clock, maxEngines: number) {
    this.#factory = factory;
    this.#clock = clock;
    this.#maxEngines = maxEngines;
  }

  get size(): number {
    return this.#engines.size;
  }

  /** The owner's engine if it can be had in this turn. */
  now(owner: EngineOwner): Engine | undefined {
    if (this.#isClosed)
      throw new DatabaseError('shutting_down', 'The service is closing; its sandbox takes no more work.');
    const engine = this.#engines.get(owner);
    if (engine !== undefined) {
      this.#engines.delete(owner);
      this.#engines.set(owner, engine);
      return engine;
    }
    if (this.#spare === undefined && this.#engines.size >= this.#maxEngines) this.#evictOldest(this.#maxEngines * 2);
    return this.#spare === undefined ? undefined : this.#beginOnSpare(owner);
  }

  /** As `now`, but takes another program's engine rather than wait. Undefined where there is none. */
  nowAtAnyCost(owner: EngineOwner): Engine | undefined {
    const engine = this.now(owner);
    if (engine !== undefined) return engine;
    this.#evictOldest(0);
    return this.now(owner);
  }

  isEngineOf(owner: EngineOwner, engine: Engine): boolean {
    return this.#engines.get(owner) === engine;
  }

  /** Keeps an engine from making room; once for each `letGo`. */
  hold(engine: Engine): void {
    this.#holds.set(engine, (this.#holds.get(engine) ?? 0) + 1);
  }

  letGo(engine: Engine): void {
    const holds = (this.#holds.get(engine) ?? 0) - 1;
    if (holds > 0) this.#holds.set(engine, holds);
    else this.#holds.delete(engine);
  }

  /** Makes an engine, and an instance for it. `functions_unavailable` where it can't be loaded, `not_implemented` where it can't run here. */
  async make(owner: EngineOwner): Promise<Engine> {
    let instance: Instance;
    try {
      instance = await this.#factory.create();
    } catch (cause) {
      if (isDatabaseError(cause)) throw cause;
      const reason = `This host can't run WebAssembly, which functions of design documents need: ${String(cause)}`;
      throw new DatabaseError('not_implemented', reason, { cause });
    }
    this.#spare ??= instance;
    return this.now(owner) ?? this.make(owner);
  }

  /** Disposes the owner's engine; it gets another when it needs one. */
  drop(owner: EngineOwner): void {
    const engine = this.#engines.get(owner);
    this.#engines.delete(owner);
    if (engine?.dispose() && engine.instance.quickjs.getWasmMemory().buffer.byteLength <= MAX_KEPT_BYTES) {
      this.#spare ??= engine.instance;
    }
  }

  close(): void {
    for (const owner of this.#engines.keys()) this.drop(owner);
    this.#spare = undefined;
    this.#isClosed = true;
  }

  #beginOnSpare(owner: EngineOwner): Engine | undefined {
    const instance = this.#spare;
    this.#spare = undefined;
    if (instance === undefined) return undefined;
    const engine = new Engine(instance, owner.options, this.#clock);
    if (this.#engines.size >= this.#maxEngines) this.#evictOldest(this.#maxEngines * 2);
    this.#engines.set(owner, engine);
    return engine;
  }

  /** Takes one in which a list waits only where there are at least so many. */
  #evictOldest(takeHeldFrom: number): void {
    const engines = [...this.#engines];
    const free = engines.find(([, engine]) => !this.#holds.has(engine));
    const [owner] = free ?? (engines.length >= takeHeldFrom ? engines[0] : undefined) ?? [];
    if (owner !== undefined) this.drop(owner);
  }
}
