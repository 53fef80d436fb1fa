/**
 * Says that an answer which strangers made must not act as a page of the service's origin (docs/http.md#sandboxed-answers): with its scripts
 * and forms it could do whatever the person may who opens it.
 */
import { booleanSetting } from '../../system/config.ts';
import type { Config } from '../../system/contract.ts';
import type { Answer } from '../request/context.ts';
import { withHeader } from './responses.ts';

const POLICY = 'content-security-policy';

/** Beside a policy that the answer has: both hold then. */
export function sandboxed(answer: Answer, config: Config, kind: 'attachments' | 'showlist'): Answer {
  if (!booleanSetting(config, 'csp', `${kind}_enable`)) return answer;
  const policy = config.get('csp', `${kind}_header_value`) || 'sandbox';
  const own = answer.headers[POLICY];
  return withHeader(answer, POLICY, own === undefined ? policy : `${own}, ${policy}`);
}
