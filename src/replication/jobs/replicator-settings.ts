/** The settings of section `replicator` (docs/http/server.md#settings). They apply to what starts from now on. */
import { integerSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import type { HeaderRules } from './endpoint.ts';

export interface ReplicatorSettings {
  /** For a replication that does not say otherwise. */
  readonly defaults: ReplicationDefaults;
  /** Replications that run at the same time. */
  readonly maxJobs: number;
  /** Replications that a user who is not an admin may have requested, and all such users together. */
  readonly maxJobsPerUser: number;
  readonly maxJobsOfUsers: number;
  /** The headers that users who are not admins may send. */
  readonly headerRules: Omit<HeaderRules, 'isAdmin'>;
  /** How long one may run while others wait for their turn. */
  readonly intervalMs: number;
  /** How many give way to others at a time. */
  readonly maxChurn: number;
  /** How often a failed one is retried before it is given up. */
  readonly maxRetries: number;
  /** Events of one replication that are kept. */
  readonly maxHistory: number;
  /** Refused documents of one replication that are kept by name; all are counted. */
  readonly maxRefused: number;
}

/** Headers that proxies set, under names that the operator chooses. */
const HEADER_SETTINGS = [
  ['httpd', 'x_forwarded_host'],
  ['httpd', 'x_forwarded_proto'],
  ['httpd', 'x_forwarded_ssl'],
  ['svc_httpd_auth', 'x_auth_username'],
  ['svc_httpd_auth', 'x_auth_roles'],
  ['svc_httpd_auth', 'x_auth_token'],
] as const;

export interface ReplicationDefaults {
  readonly useCheckpoints: boolean;
  readonly checkpointIntervalMs: number;
  readonly batchSize: number;
  readonly workers: number;
  readonly connections: number;
  readonly connectionTimeoutMs: number;
  readonly retriesPerRequest: number;
}

/** Returns the settings as they are when they are read: each is looked up on use. An invalid one fails with `bad_request`. */
export function readReplicatorSettings(config: Config): ReplicatorSettings {
  /** Unset values, and values below the minimum, mean the minimum. */
  const number = (key: string, least: number) => Math.max(least, integerSetting(config, 'replicator', key) ?? least);
  return {
    get defaults() {
      return {
        useCheckpoints: config.get('replicator', 'use_checkpoints') !== 'false',
        checkpointIntervalMs: number('checkpoint_interval', 1),
        batchSize: number('worker_batch_size', 1),
        workers: number('worker_processes', 1),
        connections: number('http_connections', 1),
        connectionTimeoutMs: number('connection_timeout', 1),
        retriesPerRequest: number('retries_per_request', 0),
      };
    },
    get headerRules() {
      return {
        allowed: (config.get('replicator', 'allowed_headers') ?? '').split(',').flatMap((name) => name.trim() || []),
        withMeaning: HEADER_SETTINGS.flatMap(([section, key]) => config.get(section, key) || []),
      };
    },
    get maxJobs() {
      return number('max_jobs', 1);
    },
    get maxJobsPerUser() {
      return number('max_jobs_per_user', 0);
    },
    get maxJobsOfUsers() {
      return number('max_jobs_of_users', 0);
    },
    get intervalMs() {
      return number('interval', 1);
    },
    get maxChurn() {
      return number('max_churn', 1);
    },
    get maxRetries() {
      return number('max_replication_retry_count', 0);
    },
    get maxHistory() {
      return number('max_history', 2);
    },
    get maxRefused() {
      return number('max_refused', 0);
    },
  };
}
