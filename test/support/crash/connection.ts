import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

interface RawAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
}

interface Question {
  readonly method: string;
  /** Below the server's address, without a slash at its beginning. */
  readonly path: string;
  /** JSON, unless the headers name another type. */
  readonly body?: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The server went away before the whole response arrived: it is unknown whether it carried the request out. */
export class ConnectionLost extends Error {}

/** One connection to a server, kept open. */
export class Connection {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: URL) {
    this.#url = url;
  }

  /** Resolves only with a whole response; otherwise rejects with `ConnectionLost`. Nothing is ever sent twice. */
  async ask(question: Question): Promise<Answer> {
    const { status, bytes } = await this.askBytes(question);
    return { status, json: JSON.parse(Buffer.from(bytes).toString()) };
  }

  /** Like `ask`, for responses that need not be JSON. */
  askBytes(question: Question): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const onLost = (cause: unknown) => reject(new ConnectionLost(`${question.method} ${question.path}`, { cause }));
      const outgoing = this.#begin(question);
      outgoing.on('error', onLost);
      outgoing.on('response', (incoming) => readAll(incoming).then(resolve, onLost));
      outgoing.end(question.body);
    });
  }

  /** Sends this many bytes of the body, and hangs up. Resolves when that is done. */
  breakOff(question: Question & { readonly body: Uint8Array }, bytes: number): Promise<void> {
    return new Promise((resolve) => {
      const headers = { ...question.headers, 'content-length': String(question.body.length) };
      const outgoing = this.#begin({ ...question, headers });
      outgoing.on('close', () => resolve());
      outgoing.on('error', () => undefined);
      outgoing.write(question.body.subarray(0, bytes), () => outgoing.destroy());
    });
  }

  #begin({ method, path, body, headers }: Question): ClientRequest {
    return httpRequest(new URL(path, this.#url), {
      method,
      agent: this.#agent,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function readAll(incoming: IncomingMessage): Promise<RawAnswer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  if (!incoming.complete) throw new Error('the answer broke off');
  return { status: incoming.statusCode ?? 0, bytes: Buffer.concat(chunks) };
}
