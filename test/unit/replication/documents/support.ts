/** A service whose `_replicator` is at work, which can be closed and opened again. */
import { afterEach } from 'vitest';
import { isObject, type JsonObject, ownMember } from '../../../../src/base/json/objects.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import type { Log, Settings } from '../../../../src/base/system/contract.ts';
import { type Core, createCore, type Network } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import type { DatabaseUser } from '../../../../src/database/store/contract.ts';
import { readQuickJsWasm } from '../../../../src/node/server/platform.ts';
import { createQuickJsSandbox } from '../../../../src/queries/sandbox/programs/quickjs-sandbox.ts';
import { memoryStorage } from '../../../support/conformance/memory-storage.ts';
import { textOf } from '../../http/support.ts';

export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

export class Service {
  readonly errors: string[] = [];
  #core: Core;
  readonly #open: () => Promise<Core>;
  readonly #user: DatabaseUser | undefined;

  private constructor(core: Core, open: () => Promise<Core>, errors: string[], user: DatabaseUser | undefined) {
    this.#user = user;
    this.#core = core;
    this.#open = open;
    this.errors = errors;
  }

  /** `user`: who asks where nothing else is said. */
  static async start(config: Settings = {}, user?: DatabaseUser, network?: Network): Promise<Service> {
    const storage = await memoryStorage();
    const errors: string[] = [];
    const log: Log = {
      error: (message, cause) => errors.push(`${message} ${String(cause ?? '')}`),
      info: () => {},
      debug: () => {},
    };
    const open = async () =>
      createCore({
        storage: await storage.open(),
        clock: systemClock,
        random: systemRandom,
        config,
        log,
        network,
        deferred: deferredAtHand(createQuickJsSandbox({ loadWasm: readQuickJsWasm })),
      });
    const service = new Service(await open(), open, errors, user);
    services.push(service);
    return service;
  }

  get core(): Core {
    return this.#core;
  }

  async restart(): Promise<void> {
    await this.#core.close();
    this.#core = await this.#open();
  }

  /** `what` is a method and a path; `user` an admin by default. */
  async ask(what: string, body?: unknown, user = this.#user): Promise<Answer> {
    const [method = '', url = ''] = what.split(' ');
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const text = body === undefined ? null : JSON.stringify(body);
    const answer = await this.#core.handle({ method, url, headers, body: text, ...(user && { user }) });
    return { status: answer.status, json: JSON.parse(await textOf(answer.body)) };
  }

  /** As `ask`; fails where the answer is no success. */
  async must(what: string, body?: unknown): Promise<JsonObject> {
    const { status, json } = await this.ask(what, body);
    if (status >= 300 || !isObject(json)) throw new Error(`${what}: ${status} ${JSON.stringify(json)}`);
    return json;
  }

  async read(id: string): Promise<JsonObject> {
    return this.must(`GET /_replicator/${id}`);
  }

  /** Resolves with the document once it is as it should be; waits for its changes. */
  async until(id: string, isDone: (document: JsonObject) => boolean): Promise<JsonObject> {
    return this.untilRead('_replicator', id, isDone);
  }

  async untilRead(database: string, id: string, isDone: (document: JsonObject) => boolean): Promise<JsonObject> {
    for (;;) {
      const { update_seq: since } = await this.must(`GET /${database}`);
      const { status, json } = await this.ask(`GET /${database}/${id}`);
      if (status === 200 && isObject(json) && isDone(json)) return json;
      await this.must(`GET /${database}/_changes?feed=longpoll&since=${String(since)}&timeout=60000`);
    }
  }

  untilState(id: string, state: string): Promise<JsonObject> {
    return this.until(id, (document) => ownMember(document, '_replication_state') === state);
  }

  close(): Promise<void> {
    return this.#core.close();
  }
}

const services: Service[] = [];

/** Closes the services of each test of a file after it, and fails the test if one of them logged an error. */
export function useServices(): void {
  afterEach(async () => {
    for (const service of services.splice(0)) {
      await service.close();
      if (service.errors.length > 0) throw new Error(`the service logged errors: ${service.errors.join('\n')}`);
    }
  });
}
