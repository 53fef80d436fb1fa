/**
 * Settings that other servers of the family have and this one lacks, with the reasons (docs/http/server.md#settings-without-effect). To accept them
 * would promise what is not done. `*` at the end of a name stands for anything. Sections have the names used here.
 */

interface Group {
  /** Completes "Setting … has no effect here: …". */
  readonly why: string;
  /** The setting would protect something that is not protected: the log reports it as an error. */
  readonly protects?: boolean;
  readonly names: readonly string[];
}

const GROUPS: readonly Group[] = [
  {
    why: 'every client may request it; to refuse anonymous clients, set svc_httpd_auth/require_valid_user',
    protects: true,
    names: ['httpd/admin_only_all_dbs'],
  },
  {
    why: 'every client may use a new database; give it a _security object, or set svc_httpd_auth/require_valid_user',
    protects: true,
    names: ['svc/default_security'],
  },
  {
    why: 'the server does not request certificates of clients',
    protects: true,
    names: ['ssl/verify_ssl_certificates', 'ssl/fail_if_no_peer_cert', 'ssl/cacert_file', 'ssl/verify_fun'],
  },
  {
    why: 'failed log-ins are always slowed down, and refused if there are too many',
    names: ['chttpd_auth_lockout/*'],
  },
  {
    why: 'it is not enforced',
    protects: true,
    names: [
      'purge/*',
      'svc/max_bulk_docs_count',
      'svc/max_bulk_get_count',
      'svc/max_document_id_length',
      'svc/max_database_name_length',
      'httpd/enable_xframe_options',
      'x_frame_options/*',
    ],
  },
  {
    why: 'bytes of a request are bounded by httpd/max_http_request_size, svc/max_document_size and svc/max_attachment_chunk_size',
    names: ['svc/single_max_doc_size'],
  },
  {
    why: 'a server makes its own uuid, and the database of users is named by svc_httpd_auth/authentication_db',
    names: ['svc/uuid', 'svc/users_db_suffix', 'svc/users_db_security_editable'],
  },
  {
    why: 'databases have no shards, and one server at a time creates those of users',
    names: ['couch_peruser/q', 'couch_peruser/n', 'couch_peruser/cluster_*'],
  },
  {
    why: 'the service is always a single node',
    names: [
      ...['cluster/*', 'fabric/*', 'mem3/*', 'rexi/*', 'reshard/*', 'resharding/*', 'global_changes/*'],
      ...['svc/single_node', 'svc/max_partition_size', 'couch_jobs/*', 'feature_flags/*'],
    ],
  },
  {
    why: 'the data folder is named by the option --data, and its files have their own format',
    names: [
      ...['svc/database_dir', 'svc/view_index_dir', 'svc/util_driver_dir', 'svc/plugin_dir', 'svc/uri_file'],
      ...['svc/default_engine', 'couchdb_engines/*', 'svc/file_compression', 'svc/fsync_options'],
      ...['svc/btree_chunk_size', 'svc/attachment_stream_buffer_size', 'svc/enable_database_recovery'],
      ...['svc/stem_interactive_updates', 'svc/update_lru_on_read', 'svc/changes_doc_ids_optimization_threshold'],
      ...['view_updater/*'],
    ],
  },
  {
    why: 'a purge takes what is old at the time, and GET /{db}/_auto_purge/peers shows what it will go by',
    names: ['auto_purge/min_batch_size', 'auto_purge/dry_run', 'auto_purge/log_level'],
  },
  {
    why: 'compaction and caches need no settings',
    names: [
      ...['compaction_daemon/*', 'compactions/*', 'database_compaction/*', 'view_compaction/*', 'smoosh*', 'ken*'],
      ...['ioq*', 'ddoc_cache/*', 'chttpd_auth_cache/*', 'disk_monitor/*', 'couch_scanner*', 'process_priority/*'],
    ],
  },
  {
    why: 'functions run in a sandbox here, which has svc/os_process_timeout, and memory_bytes, workers and reduce_limit of query_server_config',
    names: [
      ...['query_servers/*', 'native_query_servers/*', 'couch_eval.languages/*', 'quickjs/*'],
      ...['query_server_config/os_process_limit', 'query_server_config/os_process_soft_limit'],
      ...['query_server_config/os_process_idle_limit', 'query_server_config/commit_freq'],
      ...['query_server_config/group_info_timeout', 'query_server_config/query_limit'],
      ...['query_server_config/partition_query_limit', 'query_server_config/reduce_limit_threshold'],
      'query_server_config/reduce_limit_ratio',
    ],
  },
  {
    why: 'queries and indexes have limits of their own, which are not settings',
    names: ['mango/*', 'indexers/*', 'couch_views/*'],
  },
  {
    why: 'the service starts no other programs, and no handlers for paths can be added',
    names: [
      ...['daemons/*', 'os_daemons/*', 'os_daemon_settings/*', 'external/*', 'update_notification/*', 'dreyfus/*'],
      ...['nouveau/*', 'httpd_global_handlers/*', 'httpd_db_handlers/*', 'httpd_design_handlers/*'],
      ...['httpd/default_handler', 'httpd/redirect_vhost_handler', 'httpd/docroot', 'httpd/rewrite_limit'],
    ],
  },
  {
    why: 'connections are managed by the host',
    names: [
      ...['httpd/socket_options', 'httpd/server_options', 'httpd/backlog', 'httpd/nodelay', 'httpd/buffer_response'],
      ...['httpd/disconnect_check_msec', 'httpd/disconnect_check_jitter_msec'],
      ...['httpd/prefer_minimal', 'httpd/server_header_versions', 'httpd/bulk_get_use_batches'],
      ...['httpd/max_db_number_for_dbs_info_req', 'replicator/socket_options', 'replicator/valid_socket_options'],
    ],
  },
  {
    why: 'if ssl/cert_file and ssl/key_file are set, the server uses https at httpd/port, with the protocols and ciphers of Node',
    names: [
      ...['ssl/enable', 'ssl/port', 'ssl/password', 'ssl/ssl_certificate_max_depth', 'ssl/secure_renegotiate'],
      ...['ssl/ciphers', 'ssl/tls_versions', 'ssl/ecc_curves', 'ssl/signature_algs'],
    ],
  },
  {
    why: 'passwords are always hashed by PBKDF2',
    names: ['svc_httpd_auth/password_scheme'],
  },
  {
    why: 'passwords are not checked against patterns',
    protects: true,
    names: ['svc_httpd_auth/password_regexp', 'svc_httpd_auth/password_regexp_admin'],
  },
  {
    why: 'session cookies are always signed in the same way and apply to the host that set them, and requests from pages of other sites are refused by other means',
    names: ['svc_httpd_auth/hash_algorithms', 'svc_httpd_auth/cookie_domain'],
  },
  {
    why: 'replications have no such setting, and no certificates of their own',
    names: [
      ...['replicator/db', 'replicator/update_docs', 'replicator/interval_sec', 'replicator/startup_jitter'],
      ...['replicator/cert_file', 'replicator/key_file', 'replicator/password', 'replicator/auth_plugins'],
      ...['replicator/ssl_trusted_certificates_file', 'replicator/ssl_certificate_max_depth'],
      ...['replicator/request_timeout', 'replicator/max_document_id_length', 'replicator/missing_doc_retry_msec'],
      ...['replicator/session_refresh_interval_sec', 'replicator/cluster_start_period', 'replicator/priority_coeff'],
      ...['replicator/usage_coeff', 'replicator/quanta', 'replicator/max_acceptors', 'replicator/accept_jitter'],
      ...['replicator/min_run_time_sec', 'replicator/health_threshold', 'replicator/health_threshold_sec'],
      ...['replicator/min_backoff_penalty_sec', 'replicator/max_backoff_penalty_sec', 'replicator.shares/*'],
      ...['replicator/bulk_get_retries', 'replicator/use_bulk_get', 'replicator/stats_update_interval_sec'],
    ],
  },
  {
    why: 'the host always checks the certificates of peers, and addresses of peers begin with http: or https:',
    names: [
      ...['replicator/verify_ssl_certificates', 'replicator/verify_ssl_certificates_log'],
      ...['replicator/valid_endpoint_protocols', 'replicator/valid_endpoint_protocols_log'],
      ...['replicator/valid_proxy_protocols', 'replicator/valid_proxy_protocols_log'],
    ],
  },
  {
    why: 'a request for _log returns at most 1000000 bytes',
    names: ['httpd/log_max_chunk_size'],
  },
  {
    why: 'the log goes to stderr and to log/file, at log/level',
    names: [
      ...['log/writer', 'log/include_sasl', 'log/max_message_size', 'log/write_buffer', 'log/write_delay'],
      ...['log/syslog_*', 'log/report_level', 'log/report_human', 'log/strip_last_msg', 'log/filter_fields'],
      ...['log_level_by_module/*', 'access_log/*', 'tracing*'],
    ],
  },
  {
    why: 'the service reports this itself: statistics are set by stats/rate and stats/samples, metrics are at /_node/_local/_prometheus, and the root names the vendor',
    names: ['stats/interval', 'prometheus/*', 'vendor/*'],
  },
  {
    why: 'the page below /_utils has a policy that fits it; csp/attachments_… and csp/showlist_… are for attachments, and for responses of show and list functions',
    names: ['csp/enable', 'csp/header_value', 'csp/utils_enable', 'csp/utils_header_value'],
  },
];

/** Returns why the family's setting means nothing here; undefined if it is not one of theirs, or has an effect. */
export function withoutEffect(section: string, key: string): Pick<Group, 'why' | 'protects'> | undefined {
  const asked = `${section}/${key}`;
  return GROUPS.find(({ names }) => names.some((name) => fits(name, asked)));
}

function fits(name: string, asked: string): boolean {
  return name.endsWith('*') ? asked.startsWith(name.slice(0, -1)) : asked === name;
}

/** Returns all of them for the documentation. */
export function settingsWithoutEffect(): readonly Pick<Group, 'why' | 'names'>[] {
  return GROUPS;
}
