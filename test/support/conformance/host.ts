/**
 * What the conformance suite needs from the carrier of its requests to a service: the core in this process, a Node
 * server behind a socket, a service worker in a page. A host adds no interpretation of its own.
 */
export interface Host {
  readonly name: string;
  /** Absolute, without a slash at the end. `Location` headers begin with it. */
  readonly baseUrl: string;
  readonly capabilities: Capabilities;
  send(request: HostRequest): Promise<HostAnswer>;
  /** Like `send`, for a response that is read while it is being sent: resolves with its head. */
  open(request: HostRequest): Promise<OpenAnswer>;
  /** Writes bytes to a connection unchanged, ends it, and returns everything that comes back. */
  sendRaw?(bytes: Uint8Array): Promise<Uint8Array>;
  /** Ends the service in an orderly way and restarts it on the same storage. */
  restart?(): Promise<void>;
  /** A second service of the same kind, on empty storage and with these settings. Its user closes it. */
  withSettings?(settings: Settings): Promise<Host>;
  /** Moves the service's clock; negative goes back. */
  moveClock?(milliseconds: number): void;
  close(): Promise<void>;
}

/** Settings by section and key (docs/http/server.md#settings); values are strings there. */
export type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * - `any-url`: the path goes out as written, without the normalization of the URL standard
 * - `forbidden-headers`: may set headers that `fetch` reserves (Host, Accept-Encoding, Content-Length, …)
 * - `wide-headers`: can send non-ASCII headers
 * - `bare-accept`: can omit `Accept` entirely
 * - `manual-redirect`: sees a 301 instead of following it
 * - `raw-socket`: writes to the connection itself (half a body, an invalid request)
 * - `broken-body`: can begin a body and fail before its end
 * - `restart`, `settings`, `clock`: has the function of that kind
 * - `network`: reaches its own address over the network, as another service would
 * - `gateway`: has CORS and virtual hosts
 * - `restart-request`: does what `_restart` asks for
 * - `function-threads`: functions of documents run in threads of their own
 * - `one-process`: all requests are answered by one process, with its own limits and counts
 */
export type Capability =
  | 'any-url'
  | 'forbidden-headers'
  | 'wide-headers'
  | 'bare-accept'
  | 'manual-redirect'
  | 'raw-socket'
  | 'broken-body'
  | 'restart'
  | 'settings'
  | 'clock'
  | 'network'
  | 'gateway'
  | 'restart-request'
  | 'function-threads'
  | 'one-process'
  | 'query-method';

/** `true`, or the reason why this host lacks it. */
export type Capabilities = Readonly<Record<Capability, true | string>>;

export interface HostRequest {
  readonly method: string;
  /** Begins with a slash, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | BrokenBody | null;
}

/** A body whose sender vanishes after `bytes` of `announced` bytes. */
export interface BrokenBody {
  readonly bytes: Uint8Array;
  readonly announced: number;
}

export interface HostAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** A response whose body is on its way. */
export interface OpenAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the next bytes; undefined at the end. Fails if the response breaks off. One call at a time. */
  next(): Promise<Uint8Array | undefined>;
  /** Reads no further, like a client that goes away. */
  cancel(): Promise<void>;
}
