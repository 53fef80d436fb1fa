/** Members that servers of the family take. */
const RESERVED =
  /^_(id|rev|deleted|attachments|access|revisions|revs_info|conflicts|deleted_conflicts|local_seq|replication_(state|state_time|state_reason|id|stats))$/;

/** Whether no server takes a member of a document with that name. */
export function isReservedName(name: string): boolean {
  return name.startsWith('_') && !RESERVED.test(name);
}
