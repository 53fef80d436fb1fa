import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

interface Question {
  readonly method: string;
  /** Below the server's address, without a slash at its beginning. */
  readonly path: string;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The server went away before the whole answer was there: nobody can say whether it did what it was asked. */
export class ConnectionLost extends Error {}

/** One connection to a server, kept open. */
export class Connection {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: URL) {
    this.#url = url;
  }

  /** Resolves with a whole answer only; rejects with `ConnectionLost` else. Nothing is ever sent twice. */
  ask({ method, path, body, headers }: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onLost = (cause: unknown) => reject(new ConnectionLost(`${method} ${path}`, { cause }));
      const outgoing = httpRequest(new URL(path, this.#url), {
        method,
        agent: this.#agent,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      });
      outgoing.on('error', onLost);
      outgoing.on('response', (incoming) => readAll(incoming).then(resolve, onLost));
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function readAll(incoming: IncomingMessage): Promise<Answer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  if (!incoming.complete) throw new Error('the answer broke off');
  return { status: incoming.statusCode ?? 0, json: JSON.parse(Buffer.concat(chunks).toString()) };
}
