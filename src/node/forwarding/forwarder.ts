import { createConnection } from 'node:net';
import type { Handle, PlainRequest } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import { Connection, type ConnectionTexts, type Dial } from './connection.ts';
import { frameOf, HELLO, PROTOCOL, REPORT, type ReaderReport, SETTINGS, type SentSettings } from './frames.ts';
import { Link } from './link.ts';

export interface ForwarderOptions {
  /** Of the owner's socket. */
  readonly path: string;
  readonly secret: string;
  readonly log: Log;
  /** Called with all settings when the owner takes requests, and after each change, before any response that was made later. */
  readonly onSettings?: ((sent: SentSettings) => void) | undefined;
  /** Headers of the responses that are made here. Default: none. */
  readonly headersFor?: ((request: PlainRequest) => Readonly<Record<string, string>>) | undefined;
  /** Milliseconds that a request waits for the owner. Default: 5,000. */
  readonly waitMs?: number | undefined;
}

export interface Forwarder {
  /**
   * Sends a request to the process that owns the databases. While it restarts, requests wait for it; then the response is 503 `service_unavailable`.
   * If it ends while it works on a request that may have effects, the response is 503, and says that the outcome is unknown. Rejects with
   * `cancelled` if the client goes away.
   */
  readonly handle: Handle;
  /** Whether the owner takes requests. */
  readonly isConnected: boolean;
  /** Resolves when it does, at the latest after that many milliseconds, with whether it does. */
  whenConnected(waitMs?: number): Promise<boolean>;
  /** Returns false if the owner is not there; then nothing was sent. */
  report(report: ReaderReport): boolean;
  /** Requests that are not answered get 503. */
  close(): void;
}

const TEXTS: ConnectionTexts = {
  notConnected: 'the process that owns the databases is not connected',
  unavailable:
    'The process that owns the databases does not answer; it may be starting again. The request was not processed. Send it again in a moment.',
  outcomeUnknown:
    'The process that owns the databases ended while it worked on this request. If the request writes, it is unknown whether that was stored: read it before you send the request again.',
  brokenOff: 'The process that owns the databases ended while it sent the response.',
};

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { log, headersFor, waitMs } = options;
  const connection = new Connection({ dial: dialOwner(options), texts: TEXTS, log, headersFor, waitMs });
  return {
    handle: connection.handle,
    get isConnected() {
      return connection.link !== undefined;
    },
    whenConnected: (mostMs) => connection.whenConnected(mostMs),
    report: (report) => {
      const { link } = connection;
      link?.send(frameOf(REPORT, 0, JSON.stringify(report)));
      return link !== undefined;
    },
    close: () => connection.close(),
  };
}

function dialOwner({ path, secret, onSettings }: ForwarderOptions): Dial {
  return (events) => {
    let isReady = false;
    const socket = createConnection(path);
    const link: Link = new Link(socket, {
      onFrame: (kind, id, payload) => {
        if (kind !== SETTINGS) return events.onFrame(kind, id, payload);
        onSettings?.(JSON.parse(payload.toString()));
        if (!isReady) events.onReady(link);
        isReady = true;
      },
      onClose: (why) => events.onClose(why),
    });
    socket.once('connect', () => link.send(frameOf(HELLO, 0, `${PROTOCOL} ${secret}`)));
    return link;
  };
}
