/** The information about a database (docs/http/databases.md#database-information). */
import type { DatabaseInfo } from '../../database/store/contract.ts';

/** The information object with the names of the HTTP interface. */
export function shownInfo(info: DatabaseInfo): Readonly<Record<string, string | number | boolean>> {
  return {
    db_name: info.name,
    doc_count: info.docCount,
    doc_del_count: info.docDelCount,
    update_seq: info.updateSeq,
    purge_seq: info.purgeSeq,
    compact_running: info.compactRunning,
    disk_size: info.diskSize,
    data_size: info.dataSize,
    instance_start_time: info.instanceStartTime,
    disk_format_version: info.diskFormatVersion,
    committed_update_seq: info.committedUpdateSeq,
  };
}
