/** JSONP, where `httpd/allow_jsonp` permits it (completion 1.10). */
import { booleanSetting } from '../../system/config.ts';
import { Query } from '../request/query.ts';
import type { Handler } from '../routing/handler.ts';
import { useLent } from '../routing/resources.ts';

export function wrapJsonp(next: Handler): Handler {
  return (context) => {
    if (!booleanSetting(context.services.config, 'httpd', 'allow_jsonp')) return next(context);
    const callback = callbackOf(context.request.url);
    if (callback === undefined) return next(context);
    return useLent(context, ({ answerJsonp }) => answerJsonp(context, next, callback));
  };
}

function callbackOf(url: string): string | undefined {
  const question = url.indexOf('?');
  return question < 0 ? undefined : new Query(url.slice(question + 1)).get('callback');
}
