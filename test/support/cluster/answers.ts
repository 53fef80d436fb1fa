import { request } from 'node:http';

export interface ClusterAnswer {
  /** 0 if there was none: the connection broke, was refused, or the client did not wait longer. */
  readonly status: number;
  readonly text: string;
  /** Without a response: whether the server can't have seen the request. */
  readonly isUnsent: boolean;
  /** When it was sent, by `performance.now`. */
  readonly sentAt: number;
  readonly endedAt: number;
  readonly url: string;
  readonly method: string;
}

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
  /** Milliseconds that the client waits. */
  readonly waitMs: number;
}

/** Sends a request on a connection of its own. */
export function askCluster({ method, url, body, waitMs }: Asked): Promise<ClusterAnswer> {
  const sentAt = performance.now();
  return new Promise((resolve) => {
    const answer = (status: number, text: string, isUnsent = false) => {
      clearTimeout(timer);
      resolve({ status, text, isUnsent, sentAt, endedAt: performance.now(), url, method });
    };
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request(url, { agent: false, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => answer(response.complete ? (response.statusCode ?? 0) : 0, text));
      response.on('error', ({ message }) => answer(0, `broke off: ${message}`));
    });
    const timer = setTimeout(() => {
      answer(0, `no answer in ${waitMs} ms`);
      sent.destroy();
    }, waitMs);
    sent.on('error', (error) => answer(0, error.message, /ECONNREFUSED/.test(error.message)));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Reasons of servers that did not begin with a request. */
const NOT_PROCESSED =
  /was not processed|The service is shutting down|is taking over the storage|stands by for the databases|has not reached its storage|another server may have taken it/;

/** What a client knows of a write that has this response, which is not that of a success. */
export function isKnownNotDone({ status, text, isUnsent }: ClusterAnswer): boolean {
  return isUnsent || status === 409 || status === 307 || (status === 503 && NOT_PROCESSED.test(text));
}
