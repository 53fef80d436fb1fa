/** Where a server keeps its databases: one server at a time owns them. */
import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { ConfigStorage } from '../../core/config/config-storage.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { Members } from '../../storage/postgres/members/members.ts';
import type { AdminGuard } from '../configuration/admin-guard.ts';

export interface HomeOptions {
  readonly memory?: boolean | undefined;
  readonly storage?: string | undefined;
  readonly dataFolder?: string | undefined;
  readonly configFile?: string | undefined;
  readonly withoutAdmin?: boolean | undefined;
  /** Whether servers of one storage each own some of the databases. */
  readonly cluster?: boolean | undefined;
  /** See `ServerOptions`. */
  readonly storageLeaseMs?: number | undefined;
}

/** A place whose settings can be read, and that is not taken yet. */
export interface Home {
  /** For messages; undefined in memory. */
  readonly place: string | undefined;
  /** Absolute; undefined if it is none. Known once it is taken. */
  readonly dataFolder: string | undefined;
  readonly settings: ConfigStorage;
  readonly guard: AdminGuard | undefined;
  /** The command that sets an admin. */
  readonly adminCommand: string;
  /**
   * Takes it for this server. While another server has it, resolves with false if servers share it, and otherwise rejects with `storage_locked`.
   */
  take(config: ConfigStore): Promise<boolean>;
  /** Whether it is certain that no other server has it. */
  readonly isHeld: boolean;
  openStore(): PageStore;
  /** Tells other servers where this one answers. */
  announce(url: string): void;
  /** Operations that wait for the medium fail soon. */
  beginClose(): void;
  /** Lets another server take it. */
  release(): Promise<void>;
  /** Ends what was needed to read the settings. */
  close(): Promise<void>;
  /** Undefined if only one server at a time can use it. */
  readonly shared?: SharedHome;
}

/** A server that owns what this one stands by for. */
export interface OtherServer {
  /** The process and its machine, for messages. */
  readonly described: string;
  readonly machine: string;
  /** Where it answers, if it has announced that. */
  readonly address: string | undefined;
}

/** What several servers share: one owns it, and the others stand by until it is free. */
export interface SharedHome {
  /** Whether this server owns it, even if it is not certain at the moment that it still does. */
  readonly isOwner: boolean;
  /** Another server that owns it. */
  readonly owner: OtherServer | undefined;
  /** Whether another server stands by. */
  readonly isAwaited: boolean;
  /** The servers that own databases, and what they know in common; undefined if this one only stands by. Once it was tried to take it. */
  readonly members: Members | undefined;
  forwardingKey(): Promise<string>;
  /** The name of this machine. */
  readonly machine: string;
  /** Why this process does not use it any more: it lacks what it had stored for good. */
  readonly rollback: DatabaseError | undefined;
  /** Whether strict commits wait for a second machine; undefined if that is not known. */
  readonly hasSynchronousReplica: boolean | undefined;
  /** Called when it is not this server's any more, with a sentence that says why. */
  onLost: (why: string) => void;
  /** Resolves when it is this server's. Fails with `storage_closed` when this server releases it, with `storage_rolled_back`, and like `Home.take`. */
  takeWhenFree(): Promise<void>;
  /** Lets another server take it. This one may take it again. */
  giveUp(): Promise<void>;
}
