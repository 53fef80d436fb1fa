import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

/** Stands between a command and a server: it notes requests, and may answer some in the server's place. */
export interface Relay {
  /** With a slash at its end. */
  readonly url: string;
  /** `GET /db/doc`, in the order in which they came. */
  readonly requests: string[];
  /** Answers a request itself, and gives true then. */
  meddle: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;
  close(): Promise<void>;
}

/** @param target with a slash at its end */
export async function openRelay(target: string): Promise<Relay> {
  const requests: string[] = [];
  const server = createServer((incoming, outgoing) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    if (relay.meddle(incoming, outgoing)) return;
    const { hostname, port } = new URL(target);
    const { method, url: path, headers } = incoming;
    const passed = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.on('close', () => incoming.complete || passed.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const relay: Relay = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`,
    requests,
    meddle: () => false,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return relay;
}
