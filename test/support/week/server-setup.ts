/** What the server of the week has from the beginning: its settings, its users, and the rule of its database. */
import type { LoginService } from './login-service.ts';

export const RULE = `function (doc) {
  if (doc.text && doc.text.length > 100) throw({ forbidden: "A note has at most 100 characters." });
}`;

/** Their passwords. */
export const USERS = { ann: 'apple', bob: 'pear' };

/** The header `Authorization` of the admin. */
export const ADMIN = `Basic ${btoa('admin:s3cret')}`;

/** Functions may take any time: that of the test jumps. */
export function settingsOf({ key }: LoginService): string {
  return [
    '[admins]',
    'admin = s3cret',
    '[httpd]',
    'authentication_handlers = jwt, cookie, default',
    '[jwt_keys]',
    `hmac:_default = ${key}`,
    '[svc_httpd_auth]',
    'allow_persistent_cookies = true',
    'timeout = 21600',
    '[svc]',
    'os_process_timeout = 2147483647',
    '[query_server_config]',
    'workers = 0',
    '',
  ].join('\n');
}
