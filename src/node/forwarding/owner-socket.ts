import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import { Entrance } from '../http/fair-work.ts';
import { AcceptedLinks, type LinkHandler, type LinkOptions } from './accepted-links.ts';
import { AnsweredLink, type AnsweringOptions } from './answered-link.ts';
import { HELLO, MAX_GREETING_BYTES, PASSED, PROTOCOL, REPORT, type ReaderReport } from './frames.ts';
import { Link } from './link.ts';

export interface OwnerSocketOptions extends AnsweringOptions {
  /** In a folder that only this user may enter. On Windows the name of a pipe. */
  readonly path: string;
  /** What readers must know. */
  readonly secret: string;
  /** Called with what a reader has counted and logged; `feeds` is the number of changes feeds that wait at all readers. */
  readonly onReport: (report: Omit<ReaderReport, 'feeds'>, feeds: number) => void;
  /** For links of other servers, which readers pass on. Default: none is accepted. */
  readonly links?: LinkOptions | undefined;
}

export interface OwnerSocket {
  /** Accepts no more connections, and waits until the readers have closed theirs, `longestMs` milliseconds at most. */
  close(longestMs: number): Promise<void>;
}

/** Answers the requests that readers send on a socket. A file that an earlier process left there is replaced. */
export async function openOwnerSocket(options: OwnerSocketOptions): Promise<OwnerSocket> {
  const { path } = options;
  if (process.platform !== 'win32') await rm(path, { force: true });
  const readers = new Set<LocalLink>();
  const entrance = new Entrance();
  const links = options.links && new AcceptedLinks({ ...options, ...options.links }, entrance);
  const onReport = (report: Omit<ReaderReport, 'feeds'>): void =>
    options.onReport(
      report,
      [...readers].reduce((sum, { feeds }) => sum + feeds, 0),
    );
  const server = createServer((socket) => {
    const reader: LocalLink = new LocalLink(socket, { ...options, onReport }, { entrance, links }, () => {
      readers.delete(reader);
      onReport({ entries: [] });
    });
    readers.add(reader);
  });
  server.listen(path);
  await once(server, 'listening');
  return {
    close: (longestMs) => {
      links?.beginClose();
      return closeSocket(server, readers, longestMs);
    },
  };
}

async function closeSocket(server: Server, readers: ReadonlySet<LocalLink>, longestMs: number): Promise<void> {
  const closed = once(server, 'close');
  // The file goes with it.
  server.close();
  const deadline = setTimeout(() => {
    for (const reader of readers) reader.destroy();
  }, longestMs);
  await closed;
  clearTimeout(deadline);
}

interface Accepting {
  readonly entrance: Entrance;
  readonly links: AcceptedLinks | undefined;
}

/** A connection of a reader: its own, or the link of another server, which it passes on. */
class LocalLink {
  readonly #options: OwnerSocketOptions;
  readonly #accepting: Accepting;
  readonly #link: Link;
  /** Changes feeds that wait at this reader. */
  feeds = 0;
  /** Undefined until it is known what it is. */
  #handler: LinkHandler | undefined;

  constructor(socket: Socket, options: OwnerSocketOptions, accepting: Accepting, onClose: () => void) {
    this.#options = options;
    this.#accepting = accepting;
    this.#link = new Link(
      socket,
      {
        onFrame: (kind, id, payload) => {
          if (this.#handler === undefined) this.#greet(kind, payload.toString());
          else this.#handler.take(kind, id, payload);
        },
        onClose: (why) => {
          if (why !== undefined) options.log.debug(`the connection of a reader has ended: ${why}`);
          this.#handler?.end();
          onClose();
        },
      },
      MAX_GREETING_BYTES,
    );
  }

  destroy(): void {
    this.#link.destroy();
  }

  #onReport(payload: Buffer): void {
    const { feeds, ...report }: ReaderReport = JSON.parse(payload.toString());
    this.feeds = feeds;
    this.#options.onReport(report, feeds);
  }

  #greet(kind: number, greeting: string): void {
    const expected = `${PROTOCOL} ${this.#options.secret}`;
    const { links } = this.#accepting;
    if (kind === HELLO && areEqualSecrets(greeting, expected)) this.#handler = this.#answerReader();
    else if (kind === PASSED && areEqualSecrets(greeting.slice(0, expected.length), expected)) {
      if (links === undefined) this.#link.destroy();
      else this.#handler = links.expect(this.#link, greeting.slice(expected.length + 1));
    } else {
      this.#options.log.error(
        'A process that is no reader of this server has connected to its socket, and was refused.',
      );
      this.#link.destroy();
    }
  }

  #answerReader(): LinkHandler {
    const { entrance, links } = this.#accepting;
    const answered = new AnsweredLink(this.#link, this.#options, { entrance, takesLinks: links !== undefined });
    answered.follow(true);
    return {
      take: (kind, id, payload) => {
        if (kind === REPORT) this.#onReport(payload);
        else answered.take(kind, id, payload);
      },
      end: () => answered.end(),
    };
  }
}
