import type { Membership } from '../../../src/storage/postgres/members/membership.ts';
import type { MemberServer } from './member-server.ts';

/**
 * Watches servers that take part in one storage, each of which adopts what it sees, and throws if what they say of each other can't be true of one
 * storage.
 *
 * A server whose newest membership was adopted by all of its members may open the databases of members that are gone. So no member of before, which is
 * absent from it, may still answer for them. One that has joined later than that membership is absent, too; it has not adopted anything yet
 * that the first one has not.
 */
export class MemberHistory {
  readonly #servers = new Set<MemberServer>();
  readonly #contents = new Map<number, string>();
  /** The first version that counts with a member, by its id. */
  readonly #joined = new Map<string, number>();
  /** What was found to be wrong. */
  readonly violations: string[] = [];
  /** How many memberships were seen. */
  get versions(): number {
    return this.#contents.size;
  }

  add(server: MemberServer): void {
    this.#servers.add(server);
    let last = 0;
    const note = (membership: Membership) => {
      if (membership.version < last) this.#report(`version ${membership.version} after ${last}`);
      last = membership.version;
      this.#note(membership);
      this.check();
      void server.members.adopt(membership.version).catch(() => undefined);
    };
    server.members.onMembership(note);
    if (server.members.membership !== undefined) note(server.members.membership);
  }

  remove(server: MemberServer): void {
    this.#servers.delete(server);
  }

  check(): void {
    for (const newer of this.#servers) {
      const membership = newer.members.membership;
      if (membership === undefined || !newer.members.isMember || !isAdopted(membership)) continue;
      for (const other of this.#servers) if (other !== newer) this.#checkAbsent(other, membership);
    }
  }

  #checkAbsent({ members }: MemberServer, { version, members: present }: Membership): void {
    const id = members.membership?.self ?? '';
    const isGone = !present.some((member) => member.id === id) && (this.#joined.get(id) ?? 0) <= version;
    if (isGone && members.isMember) this.#report(`${id} answers, and is gone from version ${version}`);
  }

  #note({ version, self, members, pins }: Membership): void {
    const content = JSON.stringify([members.map(({ id, isCoordinator }) => [id, isCoordinator]), [...pins]]);
    const before = this.#contents.get(version) ?? content;
    if (before !== content) this.#report(`version ${version} is ${before} and ${content}`);
    this.#contents.set(version, content);
    const isIn = members.some(({ id }) => id === self);
    if (isIn && !this.#joined.has(self)) this.#joined.set(self, version);
  }

  #report(violation: string): void {
    this.violations.push(violation);
  }
}

export function isAdopted({ version, members }: Membership): boolean {
  return members.every(({ adopted }) => adopted >= version);
}
