/** Carries requests to a database: the network, or the request handler in the same process. It retries nothing and checks no response. */

export interface TransportRequest {
  readonly method: string;
  /** Below the database, such as `/_changes?since=0`, or empty for the database itself; below its server if `ofServer` is set. */
  readonly path: string;
  readonly ofServer?: boolean | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** For this peer only, such as credentials: no redirect takes them elsewhere. */
  readonly ownHeaders?: Readonly<Record<string, string>> | undefined;
  /** The body is for this peer only. */
  readonly isConfidential?: boolean | undefined;
  readonly body: string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array> | undefined;
  readonly signal: AbortSignal;
}

export interface TransportAnswer {
  readonly status: number;
  /** `name` in lower case. */
  header(name: string): string | undefined;
  /** Values of `Set-Cookie`, if the host shows them. */
  readonly cookies: readonly string[];
  readonly body: AnswerBody;
}

/** Read in one of the two ways. Undefined is the end; a body cut off before it fails. */
export interface AnswerBody {
  pullText(): Promise<string | undefined>;
  pull(): Promise<Uint8Array | undefined>;
  /** Reading ends here. Never fails. */
  cancel(): Promise<void>;
}

export interface Transport {
  /** The database's name for people: without credentials. */
  readonly name: string;
  /** In the same process: it exists as long as this code, and silence does not mean that it is gone. */
  readonly isLocal: boolean;
  /** Whether texts are worth the time that it takes to compress them. */
  readonly isSlow: boolean;
  send(request: TransportRequest): Promise<TransportAnswer>;
}
