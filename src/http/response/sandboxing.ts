/**
 * Says that an answer which strangers made must not act as a page of the service's origin (docs/http/answers.md#sandboxed-answers): with its scripts
 * and forms it could do whatever the person may who opens it.
 */
import { booleanSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import type { Answer } from '../request/context.ts';
import { withHeader } from './responses.ts';

const POLICY = 'content-security-policy';
const RESOURCE_POLICY = 'cross-origin-resource-policy';
/** What holds for the whole origin, and beyond the one answer. */
const OF_ORIGIN = [
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'service-worker-allowed',
  'strict-transport-security',
] as const;
/** By these a server tells a proxy in front of it to send something else, such as a file of the proxy's machine. */
const FOR_PROXIES = /^(?:x-accel-|x-sendfile|x-lighttpd-send-|x-reproxy-)/;
/** A cookie without a name is sent as its value is. */
const SESSION = /\bAuthSession\s*=/i;

/** Types that do nothing but show, as which browsers take nothing else: their types are never guessed. */
const SHOWN_ALONE = /^(?:image|audio|video|font)\//i;

/**
 * Beside a policy that the answer has: both hold then. Headers that would act for the whole origin, or as somebody's session, are left out.
 * Pages of other origins, those on another port of the host among them, can't run it as a script, nor take it for a style sheet.
 */
export function sandboxed(answer: Answer, config: Config, kind: 'attachments' | 'showlist'): Answer {
  for (const name of Object.keys(answer.headers)) if (FOR_PROXIES.test(name)) delete answer.headers[name];
  delete answer.headers[RESOURCE_POLICY];
  if (!SHOWN_ALONE.test(answer.headers['content-type'] ?? '')) withHeader(answer, RESOURCE_POLICY, 'same-origin');
  if (!booleanSetting(config, 'csp', `${kind}_enable`)) return answer;
  for (const name of OF_ORIGIN) delete answer.headers[name];
  if (SESSION.test(answer.headers['set-cookie'] ?? '')) delete answer.headers['set-cookie'];
  const policy = config.get('csp', `${kind}_header_value`) || 'sandbox';
  const own = answer.headers[POLICY];
  return withHeader(answer, POLICY, own === undefined ? policy : `${own}, ${policy}`);
}
