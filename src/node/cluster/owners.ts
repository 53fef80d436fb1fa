import { createHash } from 'node:crypto';
import type { Member, Membership } from '../../storage/postgres/members/membership.ts';

/** Names whose owner is remembered. */
const MAX_REMEMBERED = 10_000;
/** Bytes of a digest that are compared: as many as a number holds exactly. */
const COMPARED_BYTES = 6;

/**
 * Which server owns which database, by one membership. The owner of the list of databases owns those whose names begin with an underscore. Each of the
 * others belongs to the server that was chosen by hand, if it is there, and otherwise to the one with the highest hash of its name and the
 * database's (rendezvous hashing): if a server leaves, only its databases move.
 */
export class Owners {
  readonly #membership: Membership;
  readonly #known = new Map<string, Member | undefined>();
  readonly #servers: readonly { readonly name: string; readonly member: Member }[];

  constructor(membership: Membership) {
    this.#membership = membership;
    this.#servers = membership.members.map((member) => ({ name: serverName(member), member }));
  }

  /** The owner of the list of databases; undefined if none of the members is. */
  get coordinator(): Member | undefined {
    return this.#membership.members.find(({ isCoordinator }) => isCoordinator);
  }

  ownerOf(database: string): Member | undefined {
    if (database.startsWith('_')) return this.coordinator;
    if (this.#known.has(database)) return this.#known.get(database);
    const owner = this.#pinned(database) ?? this.#highest(database);
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(database, owner);
    return owner;
  }

  #pinned(database: string): Member | undefined {
    const chosen = this.#membership.pins.get(database);
    return chosen === undefined ? undefined : this.#servers.find(({ name }) => name === chosen)?.member;
  }

  #highest(database: string): Member | undefined {
    let best: { readonly member: Member; readonly hash: number } | undefined;
    for (const { name, member } of this.#servers) {
      const hash = hashOf(name, database);
      if (best === undefined || hash > best.hash) best = { member, hash };
    }
    return best?.member;
  }
}

function hashOf(server: string, database: string): number {
  return createHash('sha1').update(`${server}\n${database}`).digest().readUIntBE(0, COMPARED_BYTES);
}

/** The name by which clients and settings know a server: `settee@` and where it answers. It stays the same when the server is started again. */
export function serverName({ address, id, machine }: Pick<Member, 'address' | 'id' | 'machine'>): string {
  return `settee@${address === undefined ? `${machine}.${id.slice(0, 8)}` : new URL(address).host}`;
}
