import { TimeSlice } from '../../../base/shared/turn.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import type { FunctionSource, ViewFunctions } from './view-functions.ts';

/** The reduce functions of an index that readers need, compiled for the limits that apply at the moment. */
export class ReduceScripts {
  /** Whether there are any. */
  readonly isNeeded: boolean;
  readonly #orders: readonly TreeOrder[];
  readonly #functions: ViewFunctions;
  #preparing: { readonly limits: string; readonly done: Promise<void> } | undefined;
  /** The limits with which they are compiled. */
  #limits: string | undefined;

  constructor(orders: readonly TreeOrder[], functions: ViewFunctions) {
    this.#orders = orders;
    this.#functions = functions;
    this.isNeeded = orders.some(({ scripts }) => scripts.length > 0);
  }

  /** Returns whether rows can be reduced now. */
  get isPrepared(): boolean {
    return !this.isNeeded || this.#limits === this.#functions.reduceLimits;
  }

  /** Compiles them for the present limits. */
  prepare(source: FunctionSource): Promise<void> {
    const limits = this.#functions.reduceLimits;
    if (this.#preparing?.limits === limits) return this.#preparing.done;
    const before = this.#preparing?.done.catch(() => undefined);
    const done = this.#prepare(source, limits, before).catch((error: unknown) => {
      if (this.#preparing?.done === done) this.#preparing = undefined;
      throw error;
    });
    this.#preparing = { limits, done };
    return done;
  }

  async #prepare(source: FunctionSource, limits: string, before: Promise<void> | undefined): Promise<void> {
    await before;
    if (this.isNeeded) {
      const scripts = this.#orders.flatMap((order) => order.scripts);
      const limit = this.#functions.reduceLimit;
      const program = await this.#functions.openProgram(source);
      const timeSlice = new TimeSlice();
      for (const { source: text, reducer } of scripts) {
        reducer.use(await program.reducer(text, limit));
        if (timeSlice.isDue) await timeSlice.rest();
      }
    }
    this.#limits = limits;
  }
}
