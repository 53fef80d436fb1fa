/** A proxy between the page and its server: the server can go away and come back, and the page can be without its policy. */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { pipeline } from 'node:stream';

interface FrontOptions {
  /** For a driver that evaluates what it is told, which the policy of the page forbids. */
  readonly dropsPolicy: boolean;
}

/** The path of an empty page of the same origin, without a policy. */
export const EMPTY_PAGE = '/empty-page';

/** The path that logs `root` in, and leads to the administration page: a browser keeps what follows the # of the address. */
export const LOG_IN = '/log-in-as-root';

export class Front {
  readonly baseUrl: string;
  /** Methods and paths of what came through. */
  readonly seen: string[] = [];
  readonly #close: () => Promise<void>;
  readonly #open: Set<ServerResponse>;
  /** The first request whose address matches breaks the server down. */
  breakBefore: RegExp | undefined;
  #isDown = false;

  private constructor(baseUrl: string, open: Set<ServerResponse>, close: () => Promise<void>) {
    this.baseUrl = baseUrl;
    this.#open = open;
    this.#close = close;
  }

  /** `target`: the address of the server, without a slash at its end. */
  static async start(target: string, { dropsPolicy }: FrontOptions): Promise<Front> {
    const open = new Set<ServerResponse>();
    let front: Front | undefined;
    const server = createServer((request, response) => {
      if (front?.breakBefore?.test(request.url ?? '') === true) {
        front.breakBefore = undefined;
        front.breakDown(true);
      }
      if (front === undefined || front.#isDown) {
        response.destroy();
        return;
      }
      if (request.url === EMPTY_PAGE) {
        response.setHeader('content-type', 'text/html').end('<!doctype html><title>Empty</title>');
        return;
      }
      if (request.url === LOG_IN) {
        logIn(target, response).catch(() => response.destroy());
        return;
      }
      front.seen.push(`${request.method} ${request.url}`);
      open.add(response);
      response.on('close', () => open.delete(response));
      passOn(target, request, response, dropsPolicy);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the loopback gives no port');
    const close = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    front = new Front(`http://127.0.0.1:${address.port}`, open, close);
    return front;
  }

  /** From now on connections are closed without a response, and those that are open are broken off; or not any more. */
  breakDown(isDown: boolean): void {
    this.#isDown = isDown;
    if (isDown) for (const response of this.#open) response.destroy();
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** Answers with the cookie that the form of the page would get. */
async function logIn(target: string, response: ServerResponse): Promise<void> {
  const { status, headers } = await fetch(`${target}/_session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'root', password: 'rootpw' }),
  });
  if (status === 200) response.writeHead(302, { location: '/_utils/', 'set-cookie': headers.getSetCookie() }).end();
  else response.writeHead(502).end(`The login has the status ${status}.`);
}

function passOn(target: string, request: IncomingMessage, response: ServerResponse, dropsPolicy: boolean): void {
  const { hostname, port } = new URL(target);
  const { method, url } = request;
  // The page and the server are one site, so the host stays what the browser has asked for.
  const outgoing = send({ hostname, port, method, path: url, headers: request.headers }, (answer) => {
    const { 'content-security-policy': policy, ...headers } = answer.headers;
    // A frame as wide as a telephone is a page of this origin.
    const framed = `${policy}`.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
    const kept = dropsPolicy || policy === undefined ? headers : { ...headers, 'content-security-policy': framed };
    if (dropsPolicy && `${headers['content-type']}`.startsWith('text/html')) {
      void withoutPolicy(answer).then((html) => {
        const { 'content-length': _length, etag: _tag, ...rest } = kept;
        response.writeHead(answer.statusCode ?? 502, rest).end(html);
      });
      return;
    }
    response.writeHead(answer.statusCode ?? 502, kept);
    // Pages wait for the head of a feed that has nothing to tell yet.
    response.flushHeaders();
    pipeline(answer, response, () => undefined);
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  request.pipe(outgoing);
}

async function withoutPolicy(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  return Buffer.concat(chunks)
    .toString()
    .replace(/<meta\s+http-equiv="Content-Security-Policy"[^>]*>/, '');
}
