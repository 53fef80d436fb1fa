/** What carries requests to a database: the network, or the one door in the same process. It repeats nothing and judges no answer. */

export interface TransportRequest {
  readonly method: string;
  /** Below the database, such as `/_changes?since=0`, or empty for the database itself; below its server where `ofServer` says so. */
  readonly path: string;
  readonly ofServer?: boolean | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is meant for this peer alone, such as credentials: no redirection takes it elsewhere. */
  readonly ownHeaders?: Readonly<Record<string, string>> | undefined;
  /** What the body says is meant for this peer alone. */
  readonly isConfidential?: boolean | undefined;
  readonly body: string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array> | undefined;
  readonly signal: AbortSignal;
}

export interface TransportAnswer {
  readonly status: number;
  /** `name` in lower case. */
  header(name: string): string | undefined;
  /** Values of `Set-Cookie`, where the host shows them. */
  readonly cookies: readonly string[];
  readonly body: AnswerBody;
}

/** Read in one of the two ways. Undefined is the end; what breaks off before it fails. */
export interface AnswerBody {
  pullText(): Promise<string | undefined>;
  pull(): Promise<Uint8Array | undefined>;
  /** Nobody reads on. Never fails. */
  cancel(): Promise<void>;
}

export interface Transport {
  /** The database as people are shown it: without credentials. */
  readonly name: string;
  /** In the same process: it is there for as long as we are, and no silence means that it is not. */
  readonly isLocal: boolean;
  /** Whether texts are worth the time that it takes to compress them. */
  readonly isSlow: boolean;
  send(request: TransportRequest): Promise<TransportAnswer>;
}
