import type { Handle } from '../../../src/base/shared/message.ts';
import type { Core } from '../../../src/core/core.ts';
import { memberCode } from '../../../src/core/member.ts';
import type { MemberOptions } from '../../../src/core/sharing.ts';
import { readOnlyError } from '../../../src/storage/paging/page-errors.ts';

/** After so many requests each database that can have another owner gets one, unless they are moving already: servers adopt one membership after another. */
const REQUESTS_BETWEEN_MOVES = 40;

/** Two cores that share databases, whose owners change again and again. The first owns the list. Requests go to both in turn. */
export class SharedCores {
  readonly #cores: Core[] = [];
  #turn = 0;
  #requests = 0;
  #arranged: Promise<unknown> = Promise.resolve();
  #isMoving = false;
  #onMove: () => void = () => undefined;

  /** What the core with that number is told. `follows`: for the second one. */
  optionsOf(index: number, follows?: MemberOptions['follows']): MemberOptions {
    return {
      code: memberCode,
      follows,
      placement: { owns: (name) => this.#ownerOf(name) === index, whenFree: (name) => this.#whenFree(name, index) },
      ownerOf: (database) => {
        const owner = database === undefined ? 0 : this.#ownerOf(database);
        return owner === index ? undefined : this.#sendTo(owner);
      },
      name: () => `core${index}`,
      others: () => [{ name: `core${1 - index}`, handle: this.#sendTo(1 - index) }],
      lookAgain: async () => {
        await this.#arranged;
      },
    };
  }

  add(core: Core): void {
    this.#cores.push(core);
  }

  readonly handle: Handle = (request) => {
    this.#requests += 1;
    if (this.#requests % REQUESTS_BETWEEN_MOVES === 0 && !this.#isMoving) void this.#move();
    return this.#core(this.#requests % 2).handle(request);
  };

  async close(): Promise<void> {
    await this.#arranged;
    for (const core of [...this.#cores].reverse()) await core.close();
  }

  #sendTo(index: number): Handle {
    return (request) => {
      const { hops = 0, signal } = request;
      return this.#core(index).handle({ ...request, hops: hops + 1, ...(signal && { signal }) });
    };
  }

  #core(index: number): Core {
    const core = this.#cores[index];
    if (core === undefined) throw new Error('the core was not started');
    return core;
  }

  #ownerOf(name: string): number {
    if (name.startsWith('_')) return 0;
    return (name.length + name.charCodeAt(name.length - 1) + this.#turn) % 2;
  }

  async #move(): Promise<void> {
    this.#isMoving = true;
    this.#turn += 1;
    this.#onMove();
    this.#arranged = Promise.all(this.#cores.map((core) => core.rearrange()));
    await this.#arranged;
    this.#isMoving = false;
  }

  async #whenFree(name: string, index: number): Promise<void> {
    for (;;) {
      if (this.#ownerOf(name) !== index) throw readOnlyError(name);
      const turn = this.#turn;
      const moved = new Promise<void>((resolve) => {
        const next = this.#onMove;
        this.#onMove = () => {
          next();
          resolve();
        };
      });
      await Promise.race([this.#arranged, moved]);
      if (turn === this.#turn) return;
    }
  }
}
