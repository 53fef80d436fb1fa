import type { ServerDescription } from '../server-rows.ts';

/** A server that takes part, as all of them see it. */
export interface Member extends ServerDescription {
  readonly id: string;
  /** Where it answers, if it has announced that. */
  readonly address: string | undefined;
  /** Whether it owns the storage. */
  readonly isCoordinator: boolean;
  /** The version of the membership up to which it has given up what is another member's. */
  readonly adopted: number;
}

/** Who takes part at one moment. Of two memberships of the same version, only `self` and what was adopted may differ. */
export interface Membership {
  readonly version: number;
  /** The id of the server that has seen this. It is not among the members if the others have removed it. */
  readonly self: string;
  /** Those that take part and are alive, ascending by their ids. There may be no coordinator: then a server that does not take part owns the storage, or none does. */
  readonly members: readonly Member[];
  /** The servers that were chosen by hand as owners of databases, by the names of the databases. */
  readonly pins: ReadonlyMap<string, string>;
}

/** Returns whether both are what their version stands for, so the same for all members. */
export function haveSameContent(left: Membership, right: Membership): boolean {
  return textOfMembers(left) === textOfMembers(right) && haveSamePins(left, right);
}

export function isSameMembership(left: Membership, right: Membership): boolean {
  return (
    left.version === right.version &&
    left.self === right.self &&
    adoptedOf(left) === adoptedOf(right) &&
    haveSameContent(left, right)
  );
}

function textOfMembers({ members }: Membership): string {
  return JSON.stringify(members.map(({ id, address, isCoordinator }) => [id, address ?? null, isCoordinator]));
}

function adoptedOf({ members }: Membership): string {
  return members.map(({ adopted }) => adopted).join();
}

function haveSamePins({ pins: left }: Membership, { pins: right }: Membership): boolean {
  // They are read only with another version.
  return left === right || JSON.stringify([...left]) === JSON.stringify([...right]);
}
