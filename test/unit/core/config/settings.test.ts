import { describe, expect, test } from 'vitest';
import { addressListSetting, booleanSetting, integerSetting } from '../../../../src/base/system/config.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';

/** As the interface lists them; where this service has others, docs/http/server.md#settings says so. */
const INTERFACE_DEFAULTS = `
  svc/max_attachment_chunk_size = 4294967296
  svc/max_dbs_open = 100
  svc/os_process_timeout = 5000
  svc/delayed_commits = true
  httpd/max_connections = 2048
  httpd/port = 5984
  httpd/authentication_handlers = oauth, cookie, default
  httpd/allow_jsonp = false
  httpd/enable_cors = false
  httpd/secure_rewrites = true
  httpd/changes_timeout = 60000
  httpd/max_uri_length = (unset)
  httpd/WWW-Authenticate = (unset)
  httpd/vhost_global_handlers = _utils, _uuids, _session, _oauth, _users
  cors/credentials = false
  cors/max_age = 12345
  cors/origins = (unset)
  replicator/max_http_pipeline_size = 10
  replicator/max_http_sessions = 10
  replicator/max_replication_retry_count = 10
  stats/rate = 1000
  stats/samples = [0, 60, 300, 900]
  attachments/compression_level = 8
  attachments/compressible_types = text/*, application/javascript, application/json, application/xml
  log/level = info
  uuids/algorithm = sequential
  uuids/max_count = 1000
  svc_httpd_auth/allow_persistent_cookies = false
  svc_httpd_auth/auth_cache_size = 50
  svc_httpd_auth/authentication_db = _users
  svc_httpd_auth/authentication_redirect = /_utils/session.html
  svc_httpd_auth/iterations = 10000
  svc_httpd_auth/min_iterations = 100
  svc_httpd_auth/max_iterations = 100000
  svc_httpd_auth/proxy_use_secret = false
  svc_httpd_auth/public_fields = (unset)
  svc_httpd_auth/users_db_public = false
  svc_httpd_auth/require_valid_user = false
  svc_httpd_auth/secret = (unset)
  svc_httpd_auth/timeout = 600
  svc_httpd_auth/x_auth_roles = X-Auth-Svc-Roles
  svc_httpd_auth/x_auth_username = X-Auth-Svc-UserName
  svc_httpd_auth/x_auth_token = X-Auth-Svc-Token
  svc_httpd_oauth/use_users_db = false
`;

describe('config', () => {
  test('has the defaults of the interface', () => {
    const config = createConfig();
    expect(config.get('svc', 'max_document_size')).toBe('67108864');
    expect(config.get('svc', 'max_dbs_open')).toBe('100');
    expect(config.get('svc', 'page_cache_bytes')).toBe('33554432');
    expect(config.get('uuids', 'algorithm')).toBe('sequential');
    expect(config.get('uuids', 'max_count')).toBe('1000');
    expect(config.get('svc', 'os_process_timeout')).toBe('5000');
    expect(config.get('httpd', 'max_uri_length')).toBeUndefined();
  });

  test.each(
    INTERFACE_DEFAULTS.trim()
      .split('\n')
      .map((row) => row.trim()),
  )('has the default of %s', (row) => {
    const [name = '', value] = row.split(' = ');
    const [section = '', key = ''] = name.split('/');
    expect(createConfig().get(section, key)).toBe(value === '(unset)' ? undefined : value);
  });

  test('given settings override the defaults key by key', () => {
    const config = createConfig({ uuids: { algorithm: 'random' }, app: { key: 'value' } });
    expect(config.get('uuids', 'algorithm')).toBe('random');
    expect(config.get('uuids', 'max_count')).toBe('1000');
    expect(config.get('app', 'key')).toBe('value');
  });

  test('names of built-in properties of JavaScript are unset like others', () => {
    const config = createConfig();
    expect(config.get('__proto__', 'toString')).toBeUndefined();
    expect(config.get('constructor', 'name')).toBeUndefined();
  });

  test('an invalid number is reported at the start', () => {
    for (const value of ['many', '-1', '1.5', '0x']) {
      expect(() => createConfig({ svc: { max_document_size: value } })).toThrow(
        `Setting svc/max_document_size is "${value}"; it must be a whole number from 20 up.`,
      );
    }
  });

  test('an unknown word is reported at the start, with the known ones', () => {
    expect(() => createConfig({ uuids: { algorithm: 'snowflake' } })).toThrow(
      'Setting uuids/algorithm is "snowflake"; it must be one of sequential, random, utc_random, utc_id.',
    );
  });

  test.each([
    ['httpd', 'allow_jsonp', 'yes', 'true, false'],
    ['httpd', 'secure_rewrites', '1', 'true, false'],
    ['query_server_config', 'reduce_limit', '', 'true, false, log'],
  ])('a switch %s/%s can\'t be "%s"', (section, key, value, choices) => {
    expect(() => createConfig({ [section]: { [key]: value } })).toThrow(
      `Setting ${section}/${key} is "${value}"; it must be one of ${choices}.`,
    );
  });

  test('an empty number is unset', () => {
    expect(integerSetting(createConfig({ httpd: { max_uri_length: '' } }), 'httpd', 'max_uri_length')).toBeUndefined();
  });

  test('a list of addresses is trimmed, and is empty if it is unset', () => {
    const of = (trusted_proxies: string) =>
      addressListSetting(createConfig({ httpd: { trusted_proxies } }), 'httpd', 'trusted_proxies');
    expect(of('127.0.0.1, ::1 ,10.0.0.1,')).toEqual(['127.0.0.1', '::1', '10.0.0.1']);
    expect(of('')).toEqual([]);
    expect(addressListSetting(createConfig(), 'httpd', 'trusted_proxies')).toEqual([]);
  });

  test.each(['localhost', '127.0.0.1 ::1', '127.0.0', '127.0.0.1:80', '[::1]', '10.0.0.0/8', 'abc'])(
    '%s is not an address, which is reported at the start',
    (text) => {
      expect(() => createConfig({ httpd: { trusted_proxies: text } })).toThrow(
        `Setting httpd/trusted_proxies names "${text}"; it must be a list of IP addresses with commas between them, such as 127.0.0.1,::1.`,
      );
    },
  );

  test('only the text true is true', () => {
    const config = createConfig({ app: { yes: 'true', loud: 'TRUE', one: '1' } });
    expect(['yes', 'loud', 'one', 'absent'].map((key) => booleanSetting(config, 'app', key))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
