import type { Handle } from '../../base/shared/message.ts';

/** One of several servers. */
export interface OtherServer {
  readonly name: string;
  /** Sends a request there, with one more hop. */
  readonly handle: Handle;
}

/** The other servers of a service that owns only some of the databases. */
export interface Sharing {
  /** This server's own name. */
  name(): string;
  /** Sends a request to the owner of the database, or of the list of databases, with one more hop. Undefined if that is this server. */
  ownerOf(database: string | undefined): Handle | undefined;
  /** Each of them answers for itself. */
  others(): readonly OtherServer[];
}
