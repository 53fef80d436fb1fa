/** The two devices, and which replications keep them the same: through the server while it can be reached, else directly. */

export const devices = [
  { name: 'phone', title: 'Phone', database: 'notes-phone' },
  { name: 'laptop', title: 'Laptop', database: 'notes-laptop' },
] as const;

export type Device = (typeof devices)[number];
export type DeviceName = Device['name'];

/** How devices that are online reach each other. */
export type Way = 'server' | 'direct';

/** A replication document. */
export interface Job {
  readonly id: string;
  readonly source: string;
  readonly target: string;
}

/** A device's two replications, or one of them. */
export interface Ends {
  readonly send: string;
  readonly receive: string;
}

/** Sorts before the ids of all notes, and after those of design documents: each device makes its own views. */
export const ONLY_NOTES = { _id: { $gt: 'n' } } as const;

/** `server`: the address of the server's database. */
export function wantedJobs(online: ReadonlySet<DeviceName>, way: Way, server: string): readonly Job[] {
  const reachable = devices.filter(({ name }) => online.has(name));
  if (way === 'server') {
    return reachable.flatMap(({ name, database }) => {
      const { send, receive } = endsOf(name, way);
      return [
        { id: send, source: database, target: server },
        { id: receive, source: server, target: database },
      ];
    });
  }
  const [one, other] = reachable;
  if (!one || !other) return [];
  return [
    { id: endsOf(one.name, way).send, source: one.database, target: other.database },
    { id: endsOf(other.name, way).send, source: other.database, target: one.database },
  ];
}

/** The ids of the documents that request a device's replications. */
export function endsOf(name: DeviceName, way: Way): Ends {
  if (way === 'server') return { send: `notes-${name}-to-server`, receive: `notes-server-to-${name}` };
  return { send: `notes-from-${name}`, receive: `notes-from-${name === 'phone' ? 'laptop' : 'phone'}` };
}

/** Of all replications that the page ever requests. */
export const allJobIds: readonly string[] = devices.flatMap(({ name }) => {
  const { send, receive } = endsOf(name, 'server');
  return [send, receive, endsOf(name, 'direct').send];
});
