/**
 * Prevents a response with untrusted content from acting as a page of the service's origin (docs/http/answers.md#sandboxed-answers): with its scripts
 * and forms it could do whatever the person who opens it may do.
 */
import { booleanSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import type { Answer } from '../request/context.ts';
import { withHeader } from './responses.ts';

const POLICY = 'content-security-policy';
const RESOURCE_POLICY = 'cross-origin-resource-policy';
/** Headers that apply to the whole origin, beyond this one response. */
const ORIGIN_WIDE_HEADERS = [
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'service-worker-allowed',
  'strict-transport-security',
] as const;
/** With these a server tells a proxy in front of it to send something else, such as a file of the proxy's machine. */
const FOR_PROXIES = /^(?:x-accel-|x-sendfile|x-lighttpd-send-|x-reproxy-)/;
/** A cookie without a name is sent as its value alone. */
const SESSION = /\bAuthSession\s*=/i;

/** Types that are only displayed, and that browsers treat as nothing else: their types are never guessed. */
const INERT_TYPES = /^(?:image|audio|video|font)\//i;

/**
 * The policy is added to one that the response has: browsers enforce both. Omits headers that would act for the whole origin, or as a user's session.
 * Pages of other origins, including those on another port of the host, can't run it as a script, or use it as a style sheet.
 */
export function sandboxed(answer: Answer, config: Config, kind: 'attachments' | 'showlist'): Answer {
  for (const name of Object.keys(answer.headers)) if (FOR_PROXIES.test(name)) delete answer.headers[name];
  delete answer.headers[RESOURCE_POLICY];
  if (!INERT_TYPES.test(answer.headers['content-type'] ?? '')) withHeader(answer, RESOURCE_POLICY, 'same-origin');
  if (!booleanSetting(config, 'csp', `${kind}_enable`)) return answer;
  for (const name of ORIGIN_WIDE_HEADERS) delete answer.headers[name];
  if (SESSION.test(answer.headers['set-cookie'] ?? '')) delete answer.headers['set-cookie'];
  const policy = config.get('csp', `${kind}_header_value`) || 'sandbox';
  const own = answer.headers[POLICY];
  return withHeader(answer, POLICY, own === undefined ? policy : `${own}, ${policy}`);
}
