/** A worker of the sandbox: it runs the calls that arrive as messages (wire.ts), one after the other. */

import { must } from '../../../base/shared/assert.ts';
import { type Clock, systemClock } from '../../../base/shared/clock.ts';
import { listLost } from '../isolates/call-failures.ts';
import { type IsolateOwner, IsolatePool } from '../isolates/isolate-pool.ts';
import { QuickJsInstanceFactory } from '../isolates/quickjs-instance.ts';
import type { BegunList } from './function-call.ts';
import { LocalExecutor } from './local-executor.ts';
import {
  type FromWorker,
  type ToWorker,
  toWireFailure,
  WIRE_VERSION,
  type WireAnswer,
  type WireProgram,
} from './wire.ts';

/** Serves the thread that posts to this one. `receive` receives its messages, in their order. */
export function createSandboxWorker(post: (message: FromWorker) => void, clock: Clock = systemClock) {
  let worker: SandboxWorker | undefined;
  let last: Promise<void> = Promise.resolve();
  return {
    receive(message: ToWorker): void {
      last = last.then(async () => {
        if (message.type !== 'start') {
          await must(worker, 'a worker is started first').receive(message);
          return;
        }
        const { compiled, limits } = message;
        const factory = new QuickJsInstanceFactory(compiled, limits.memory.isolateBytes);
        const pool = new IsolatePool(factory, clock, limits, () => post({ type: 'spent' }));
        worker = new SandboxWorker(new LocalExecutor(pool, clock, () => post({ type: 'step' })), post);
        post({ type: 'ready', version: WIRE_VERSION });
        await pool.prepare();
      });
    },
  };
}

type Message = Exclude<ToWorker, { type: 'start' }>;
type Question = Extract<ToWorker, { type: 'call' | 'beginList' | 'callList' }>;

class SandboxWorker {
  readonly #executor: LocalExecutor;
  readonly #post: (message: FromWorker) => void;
  readonly #programs = new Map<number, IsolateOwner>();
  readonly #lists = new Map<number, BegunList>();
  #lastList = 0;
  /** What functions logged since the last answer. */
  #messages: string[] = [];

  constructor(executor: LocalExecutor, post: (message: FromWorker) => void) {
    this.#executor = executor;
    this.#post = post;
  }

  async receive(message: Message): Promise<void> {
    switch (message.type) {
      case 'open':
        this.#programs.set(message.program, this.#toOwner(message.source));
        return;
      case 'forget':
        this.#forget(message.program);
        return;
      case 'releaseList':
        this.#lists.get(message.list)?.release();
        this.#lists.delete(message.list);
        return;
      default:
        await this.#answer(message);
    }
  }

  async #answer(question: Question): Promise<void> {
    let answer: WireAnswer;
    try {
      answer = await this.#carryOut(question);
    } catch (error) {
      this.#post({ type: 'failure', failure: toWireFailure(error), messages: this.#takeMessages() });
      return;
    }
    this.#post({ type: 'answer', answer, messages: this.#takeMessages() });
  }

  async #carryOut(question: Question): Promise<WireAnswer> {
    switch (question.type) {
      case 'call':
        return this.#executor.run(this.#ownerOf(question.program), question.call);
      case 'beginList': {
        const begun = await this.#executor.beginList(this.#ownerOf(question.program), question.list);
        if (begun === undefined) return { text: '', ms: 0, isUnfit: true };
        this.#lastList++;
        this.#lists.set(this.#lastList, begun);
        return { text: begun.answer, ms: 0, list: this.#lastList };
      }
      case 'callList': {
        const list = this.#lists.get(question.list);
        if (list === undefined) throw listLost();
        return { text: await list.call(question.operation, question.texts), ms: 0 };
      }
    }
  }

  #ownerOf(program: number): IsolateOwner {
    return must(this.#programs.get(program), 'a program is opened first');
  }

  #toOwner(source: WireProgram): IsolateOwner {
    return { options: { ...source, log: (message) => this.#messages.push(message) } };
  }

  #forget(program: number): void {
    const owner = this.#programs.get(program);
    if (owner !== undefined) this.#executor.dispose(owner);
    this.#programs.delete(program);
  }

  #takeMessages(): string[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }
}
