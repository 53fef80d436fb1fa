/** The settings of Settee, one a line: name, default, when a change takes effect, choices, and what it means. */
export const KNOWN_SETTINGS = `
svc/delayed_commits | true | now | true, false | Whether writes return before they survive a power cut.
svc/maintenance_mode | false | now | false, true, nolb | Makes _up return 404, so that load balancers use another server. All else works as usual.
svc/max_attachment_chunk_size | 4294967296 | now | | Maximum bytes of an attachment.
svc/max_dbs_open | 100 | now | | Unused databases that stay open.
svc/max_document_size | 67108864 | now | | Maximum bytes of the JSON text of a request.
svc/max_selector_steps | 1000000000 | query | | Maximum steps of a query. One that takes more is refused.
svc/os_process_timeout | 5000 | now | | Milliseconds that a design document function has for one document, one reduction or one request.
svc/page_cache_bytes | 33554432 | now | | Bytes of memory in which all databases and views together cache parts of their files.
attachments/compressible_types | text/*, application/javascript, application/json, application/xml | now | | Content types of attachments that are stored compressed.
attachments/compression_level | 8 | now | | 0 stores all attachments as they come. 1 to 9 compress those that become shorter.
auto_purge/deleted_document_ttl | | now | | How long deleted documents stay where a database does not say so itself, such as 90_days. Empty: for good.
auto_purge/interval | 3600000 | now | | Milliseconds between two runs of automatic purges.
auto_purge/max_batch_size | 1000 | now | | Documents that an automatic purge removes in one commit.
auto_purge/peer_ttl | 6_months | now | | Silence after which a peer no longer keeps deleted documents from being purged, such as 90_days, or infinity.
cors/credentials | false | now | true, false | Whether pages of other origins may send cookies.
cors/headers | | now | | Headers that pages of other origins may send. Empty: those of the interface.
cors/max_age | 12345 | now | | Seconds for which browsers remember these permissions.
cors/methods | | now | | Methods that pages of other origins may use. Empty: all.
cors/origins | | now | | Origins whose pages may send requests, with commas between them, or * for all.
couch_peruser/database_prefix | userdb- | now | | What the names of users' own databases begin with.
couch_peruser/delete_dbs | false | now | true, false | Whether the database of a deleted user is deleted, too.
couch_peruser/enable | false | now | true, false | Whether each user gets a database.
csp/attachments_enable | true | now | true, false | Whether attachments are sent with a Content-Security-Policy.
csp/attachments_header_value | sandbox | now | | That policy.
csp/showlist_enable | true | now | true, false | Whether the output of shows, lists and updates is sent with a policy.
csp/showlist_header_value | sandbox | now | | That policy.
httpd/WWW-Authenticate | | now | | Value of the header WWW-Authenticate in a 401. Empty: no such header.
httpd/allow_jsonp | false | now | true, false | Whether ?callback= is honoured.
httpd/authentication_handlers | oauth, cookie, default | now | | Ways to log in, in the order in which they are tried: oauth, cookie, proxy, default, jwt.
httpd/bind_address | 127.0.0.1 | start | | Address at which the server listens.
httpd/changes_timeout | 60000 | now | | Maximum milliseconds that a feed without heartbeats waits for the next change.
httpd/compression | on | now | on, br, gzip, off | Whether responses are compressed for clients that accept it, and whether by one content coding only.
httpd/compression_of_loopback | false | now | true, false | Whether clients on the machine of the server get compressed responses, too.
httpd/config_whitelist | | now | | Names of the settings that can be changed over HTTP, with commas between them. Empty: all.
httpd/enable_cors | false | now | true, false | Whether pages of the origins in cors/origins may send requests.
httpd/max_bytes_in_flight | 268435456 | now | | Bytes of memory for requests and responses in progress. Requests beyond it wait.
httpd/max_connections | 2048 | now | | Connections at a time. 0: no limit.
httpd/max_uri_length | | now | | Maximum characters of the URI of a request. Empty: only the limit of the head, 64 KB.
httpd/max_http_request_size | 4294967296 | now | | Maximum bytes of the body of a request, whatever is in it.
httpd/min_body_rate | 500 | now | | Minimum bytes per second at which a client must send a body. 0: no minimum.
httpd/port | 5984 | start | | Port of the server.
httpd/secure_rewrites | true | now | true, false | Whether rewrite rules must stay within their database.
httpd/trusted_proxies | | now | | IP addresses of proxies whose X-Forwarded headers are trusted. Empty: none.
httpd/vhost_global_handlers | _utils, _uuids, _session, _oauth, _users | now | | First path segments that mean the same on every virtual host.
httpd/x_forwarded_host | X-Forwarded-Host | now | | Header in which a proxy names the host that its client requested.
httpd/x_forwarded_proto | X-Forwarded-Proto | now | | Header in which a proxy names the scheme that its client used.
httpd/x_forwarded_ssl | X-Forwarded-Ssl | now | | Header in which a proxy says on if its client used https.
jwt_auth/roles_claim_name | | now | | The claim with the roles of a token. Empty: _couchdb.roles.
jwt_auth/roles_claim_path | | now | | Path of the claim with the roles of a token, such as realm_access.roles. Empty: roles_claim_name applies.
jwt_auth/required_claims | exp | now | | Claims that a token must have.
log/file | | fixed | | File in which the log is also kept. It can't be changed over HTTP.
log/format | text | now | text, json | Whether all entries are text or lines of JSON.
log/level | info | now | none, error, warning, info, debug, request | The most detailed entries of the log that are written.
log/max_bytes | 10485760 | now | | Bytes at which the log file is set aside and another one begun.
log/max_files | 5 | now | | Maximum number of log files.
log/requests | false | now | true, false, json | Whether each request is an entry of the level info: an access log, as text or as lines of JSON.
query_server_config/memory_bytes | 1073741824 | restart | | Maximum bytes of memory of design document functions in all threads together.
query_server_config/reduce_limit | true | now | true, false, log | Whether reduce results that do not shrink are refused, taken, or only logged.
query_server_config/workers | | restart | | Threads that run design document functions. Empty: one per processor.
replicator/allowed_headers | | now | | Headers beside the usual ones that users who are not admins may have replications send.
replicator/allowed_hosts | | now | | Hosts beside public ones that users who are not admins may name in replications.
replicator/checkpoint_interval | 5000 | now | | Milliseconds between checkpoints of a replication.
replicator/connection_timeout | 30000 | now | | Milliseconds that a peer may be silent during a request.
replicator/http_connections | 20 | now | | Requests to one peer at the same time.
replicator/interval | 60000 | now | | Milliseconds that a continuous replication runs before it gives way to a waiting one.
replicator/max_churn | 20 | now | | Replications that give way at a time.
replicator/max_history | 20 | now | | Events of one replication that are kept in the list of replications.
replicator/max_http_pipeline_size | 10 | none | | Without effect. It is shown for tools that request it.
replicator/max_http_sessions | 10 | none | | Without effect. replicator/http_connections applies.
replicator/max_jobs | 500 | now | | Replications that run at a time. Others wait.
replicator/max_jobs_of_users | 5000 | now | | Unfinished replications that all users together who are not admins may have requested.
replicator/max_jobs_per_user | 500 | now | | Unfinished replications that one user who is not an admin may have requested.
replicator/max_refused | 100 | now | | Refused documents that are kept by name for each replication. All are counted.
replicator/max_replication_retry_count | 10 | now | | Retries of a failed replication, with waits that double from 5 seconds to an hour. Being offline does not count.
replicator/retries_per_request | 10 | now | | Retries of a failed request before the replication fails.
replicator/use_checkpoints | true | now | true, false | Whether a replication continues where an earlier one ended.
replicator/worker_batch_size | 500 | now | | Changes per batch of a replication.
replicator/worker_processes | 4 | now | | Batches whose documents are fetched and written at the same time.
ssl/cert_file | | fixed | | Certificate file with which the server speaks https. It can't be changed over HTTP.
ssl/key_file | | fixed | | File of its key. It can't be changed over HTTP.
stats/rate | 1000 | now | | Milliseconds of an interval of the statistics. A change resets them.
stats/samples | [0, 60, 300, 900] | now | | Time windows of the statistics, in seconds. 0 is all the time.
svc_httpd_auth/allow_persistent_cookies | false | now | true, false | Whether sessions outlive the browser.
svc_httpd_auth/auth_cache_size | 50 | now | | Users whose verified password the server remembers.
svc_httpd_auth/authentication_db | _users | now | | The database with the users.
svc_httpd_auth/authentication_redirect | /_utils/session.html | now | | Where browsers are sent that request a page without permission.
svc_httpd_auth/iterations | 10000 | now | | PBKDF2 iterations for hashing passwords.
svc_httpd_auth/max_iterations | 100000 | now | | Most iterations of hashes that users write themselves.
svc_httpd_auth/max_verified_iterations | 1000000 | now | | Users whose password was hashed with more iterations can't log in.
svc_httpd_auth/min_iterations | 100 | now | | Fewest iterations of hashes that users write themselves. Hashes with fewer are replaced at the next log-in.
svc_httpd_auth/pbkdf2_prf | sha | now | sha, sha224, sha256, sha384, sha512 | Hash function for passwords. All servers of the family accept sha.
svc_httpd_auth/proxy_use_secret | false | now | true, false | Whether proxies that authenticate need a token.
svc_httpd_auth/public_fields | | now | | Members of user documents that everyone may read if users_db_public is true.
svc_httpd_auth/require_valid_user | false | now | true, false | Whether everyone has to log in, except for _up, _session and this page.
svc_httpd_auth/require_valid_user_except_for_up | false | now | true, false | The same, under the name that servers of the family use.
svc_httpd_auth/same_site | lax | now | lax, strict, none | From whose pages browsers send the session cookie: lax and strict the same site, none all.
svc_httpd_auth/secret | | now | | Signs sessions and proxy tokens. A change ends all sessions.
svc_httpd_auth/timeout | 600 | now | | Seconds from its last request to the end of a session.
svc_httpd_auth/upgrade_hash_on_auth | true | now | true, false | Whether a log-in replaces a hash that is weaker than this server permits for its own.
svc_httpd_auth/users_db_public | false | now | true, false | Whether everyone may read the public members of user documents.
svc_httpd_auth/x_auth_roles | X-Auth-Svc-Roles | now | | Header in which an authenticating proxy sends the roles.
svc_httpd_auth/x_auth_token | X-Auth-Svc-Token | now | | Header in which an authenticating proxy sends the token.
svc_httpd_auth/x_auth_username | X-Auth-Svc-UserName | now | | Header in which an authenticating proxy sends the name of the user.
svc_httpd_oauth/use_users_db | false | now | true, false | Whether OAuth keys and tokens are those of the users.
utils/read_only | false | now | true, false | Whether this page begins in read-only mode, for users who have not chosen.
uuids/algorithm | sequential | now | sequential, random, utc_random, utc_id | How ids are made for documents that come without one.
uuids/max_count | 1000 | now | | Ids that one request may ask for.
uuids/utc_id_suffix | | now | | Suffix of the ids of the algorithm utc_id.
`;
