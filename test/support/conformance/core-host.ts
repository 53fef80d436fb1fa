import { joinBytes } from '../../../src/base/shared/bytes.ts';
import { type Clock, systemRandom } from '../../../src/base/shared/clock.ts';
import type { ByteStream, Handle, PlainResponse, RequestBody } from '../../../src/base/shared/message.ts';
import type { Config, Log } from '../../../src/base/system/contract.ts';
import { Counters } from '../../../src/base/system/counters.ts';
import { bufferedLog, LogBuffer } from '../../../src/base/system/log-buffer.ts';
import { createConfig } from '../../../src/core/config/config-store.ts';
import { type Core, type CoreOptions, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { readerCode } from '../../../src/core/reader.ts';
import { createGateway } from '../../../src/http/middleware/gateway.ts';
import {
  createQuickJsSandbox,
  type SandboxWorkers,
  type WasmLoader,
} from '../../../src/queries/sandbox/programs/quickjs-sandbox.ts';
import type { PageStore } from '../../../src/storage/page-store.ts';
import { toStream } from './body-stream.ts';
import type { Capabilities, Host, HostAnswer, HostRequest, OpenAnswer, Settings } from './host.ts';
import { SharedCores } from './shared-cores.ts';

/** A place that keeps its content from one store to the next, until it is removed. */
export interface Storage {
  open(): Promise<PageStore> | PageStore;
  remove(): Promise<void>;
}

interface CoreHostOptions {
  readonly name: string;
  readonly newStorage: () => Promise<Storage>;
  /** Where this environment finds the sandbox for functions of documents. */
  readonly loadWasm: WasmLoader;
  /** The threads in which such functions run in this environment. Default: this one. */
  readonly createWorkers?: (config: Config, log: Log) => SandboxWorkers | undefined;
  readonly settings?: Settings;
  /** Whether requests go to a second core, which reads the same storage and forwards to the first one what it can't answer. */
  readonly isReader?: boolean;
  /** Whether requests go to two cores in turn, each of which owns some of the databases. */
  readonly isShared?: boolean;
  /** The path below which the service is mounted; default the root. */
  readonly basePath?: string;
}

/** The core in this process, accessed through its one entry point. */
export class CoreHost implements Host {
  readonly name: string;
  readonly baseUrl: string;
  readonly capabilities: Capabilities;
  readonly #options: CoreHostOptions;
  readonly #storage: Storage;
  readonly #clock = new MovableClock();
  readonly #loggedErrors: string[] = [];
  #core: Running;

  private constructor(options: CoreHostOptions, storage: Storage) {
    this.name = options.name;
    this.#options = options;
    this.baseUrl = `http://settee.test${this.#basePath}`;
    this.#storage = storage;
    this.#core = stopped;
    this.capabilities = {
      'any-url': true,
      'forbidden-headers': true,
      'wide-headers': true,
      'bare-accept': true,
      'manual-redirect': true,
      'raw-socket': 'there is no socket in front of the core',
      'broken-body': true,
      restart: true,
      settings: true,
      clock: true,
      network: 'the core in this process was given no network',
      gateway: options.basePath === undefined ? true : 'virtual hosts are for services at the root',
      'restart-request': 'nobody is there who could open the core anew',
      'query-method': true,
      'one-process': options.isShared === true ? 'each service has limits and counts of its own' : true,
      'function-threads': options.createWorkers === undefined ? 'this core was given no threads' : true,
    };
  }

  get #basePath(): string {
    return this.#options.basePath ?? '';
  }

  static async start(options: CoreHostOptions): Promise<CoreHost> {
    const host = new CoreHost(options, await options.newStorage());
    await host.#start();
    return host;
  }

  async send(request: HostRequest): Promise<HostAnswer> {
    const { status, headers, body } = await this.#ask(request);
    return { status, headers, bytes: await collect(body) };
  }

  async open(request: HostRequest): Promise<OpenAnswer> {
    const { status, headers, body } = await this.#ask(request);
    const stream = toStream(body);
    return { status, headers, next: () => stream.pull(), cancel: () => stream.cancel() };
  }

  async #ask(request: HostRequest): Promise<PlainResponse> {
    const { method, path, headers } = request;
    const body = toRequestBody(request.body);
    // As in HTTP: an absolute address would take precedence over a Host header.
    const url = 'host' in headers ? `${this.#basePath}${path}` : `${this.baseUrl}${path}`;
    return this.#core.handle({ method, url, headers, body });
  }

  async restart(): Promise<void> {
    await this.#core.close();
    await this.#start();
  }

  withSettings(settings: Settings): Promise<CoreHost> {
    return CoreHost.start({ ...this.#options, name: `${this.name} with settings`, settings });
  }

  moveClock(milliseconds: number): void {
    this.#clock.move(milliseconds);
  }

  async close(): Promise<void> {
    await this.#core.close();
    await this.#storage.remove();
    if (this.#loggedErrors.length > 0) throw new Error(`the service logged errors:\n${this.#loggedErrors.join('\n')}`);
  }

  /** An entry that is logged as an error needs a developer: no case may cause one. */
  get #log(): Log {
    const error = (message: string, cause: unknown): void => {
      this.#loggedErrors.push(`${message} ${cause instanceof Error ? cause.stack : (cause ?? '')}`);
    };
    return { error, info: () => {}, debug: () => {} };
  }

  async #start(): Promise<void> {
    const { settings = {}, isReader = false, isShared = false } = this.#options;
    if (!isReader && !isShared) {
      this.#core = await this.#open({ config: settings, log: this.#log });
      return;
    }
    // What a host with several processes brings together.
    const present: { config: Config } = { config: createConfig(settings) };
    const followed: Config = { get: (section, key) => present.config.get(section, key) };
    const logTail = new LogBuffer();
    const log = bufferedLog(this.#log, logTail, this.#clock, followed);
    const shared = { log, logTail, counters: new Counters() };
    if (isShared) {
      this.#core = await this.#startShared(shared, present);
      return;
    }
    const owner = await this.#open({ ...shared, config: settings });
    present.config = owner.config;
    const { handle: forward, config } = owner;
    const reader = await this.#open({ ...shared, reader: { forward, config, code: readerCode } });
    shared.counters.waitingAtReaders = () => reader.waitingFeeds;
    const close = async (): Promise<void> => {
      await reader.close();
      await owner.close();
    };
    this.#core = { handle: reader.handle, close };
  }

  async #startShared(shared: Required<Shared>, present: { config: Config }): Promise<Running> {
    const { settings = {} } = this.#options;
    const cores = new SharedCores();
    const first = await this.#open({ ...shared, config: settings, member: cores.optionsOf(0) });
    cores.add(first);
    present.config = first.config;
    const { config, registry } = first;
    const follows = {
      config,
      keepNote: registry.keepNote.bind(registry),
      onUpdate: (name: string) => registry.noteUpdate?.(name),
    };
    const second = await this.#open({ ...shared, member: cores.optionsOf(1, follows) });
    cores.add(second);
    shared.counters.waitingAtReaders = () => second.waitingFeeds;
    return cores;
  }

  async #open(options: Shared & Pick<CoreOptions, 'config' | 'reader' | 'member'>): Promise<Core> {
    const { loadWasm, createWorkers, settings = {} } = this.#options;
    const workers = createWorkers?.(createConfig(settings), this.#log);
    return createCore({
      ...options,
      storage: await this.#storage.open(),
      clock: this.#clock,
      random: systemRandom,
      basePath: this.#basePath,
      gateway: createGateway,
      deferred: deferredAtHand(createQuickJsSandbox({ loadWasm, workers })),
    });
  }
}

type Shared = Pick<CoreOptions, 'log' | 'logTail'> & { readonly counters?: Counters };

interface Running {
  readonly handle: Handle;
  close(): Promise<void>;
}

const stopped: Running = {
  handle: () => Promise.reject(new Error('the core was not started')),
  close: () => Promise.resolve(),
};

/** The machine's clock, shifted. Its monotonic side goes on as if nothing had happened. */
class MovableClock implements Clock {
  #offset = 0;

  now(): number {
    return Date.now() + this.#offset;
  }

  monotonic(): number {
    return performance.now();
  }

  move(milliseconds: number): void {
    this.#offset += milliseconds;
  }
}

function toRequestBody(body: HostRequest['body']): RequestBody {
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return body;
  return brokenStream(body.bytes, body.announced);
}

function brokenStream(bytes: Uint8Array, length: number): ByteStream {
  let given = false;
  return {
    length,
    pull: () => {
      if (given) return Promise.reject(new Error('the client went away'));
      given = true;
      return Promise.resolve(bytes);
    },
    cancel: () => Promise.resolve(),
  };
}

async function collect(body: PlainResponse['body']): Promise<Uint8Array> {
  const stream = toStream(body);
  const chunks: Uint8Array[] = [];
  for (let chunk = await stream.pull(); chunk !== undefined; chunk = await stream.pull()) chunks.push(chunk.slice());
  return joinBytes(chunks);
}
