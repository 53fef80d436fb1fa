/** Media types that `provides` knows by short names, and which of them an `Accept` header prefers. */

/** A media type of `Accept`, with wildcards if it is a range. */
export interface AcceptedRange {
  readonly range: string;
  readonly quality: number;
}

const TYPES: readonly (readonly [key: string, ...types: string[]])[] = [
  ['all', '*/*'],
  ['text', 'text/plain; charset=utf-8', 'txt'],
  ['html', 'text/html; charset=utf-8'],
  ['xhtml', 'application/xhtml+xml', 'xhtml'],
  ['xml', 'application/xml', 'text/xml', 'application/x-xml'],
  ['js', 'text/javascript', 'application/javascript', 'application/x-javascript'],
  ['css', 'text/css'],
  ['ics', 'text/calendar'],
  ['csv', 'text/csv'],
  ['rss', 'application/rss+xml'],
  ['atom', 'application/atom+xml'],
  ['yaml', 'application/x-yaml', 'text/yaml'],
  ['multipart_form', 'multipart/form-data'],
  ['url_encoded_form', 'application/x-www-form-urlencoded'],
  ['json', 'application/json', 'text/x-json'],
];

/** Creates the types by their short names; a function may add to them. */
export function createMediaTypes(): Map<string, readonly string[]> {
  return new Map(TYPES.map(([key, ...types]) => [key, types]));
}

export function parseAccept(header: string): AcceptedRange[] {
  return header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((text) => text.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    return { range: range === '*' ? '*/*' : range, quality: value >= 0 && value <= 1 ? value : 1 };
  });
}

export interface Acceptance {
  readonly quality: number;
  /** 2: the type itself, 1: any subtype, 0: any type, -1: no range fits. */
  readonly exactness: number;
}

/** Returns how well a media type fits an `Accept` header: the quality of the most exact range that fits. */
export function acceptanceOf(mediaType: string, ranges: readonly AcceptedRange[]): Acceptance {
  const type = bareType(mediaType);
  const [kind, subtype] = type.split('/');
  const anySubtype = subtype === undefined ? undefined : `${kind}/*`;
  let best: Acceptance = { quality: 0, exactness: -1 };
  for (const { range, quality } of ranges) {
    const exactness = range === type ? 2 : range === anySubtype ? 1 : range === '*/*' ? 0 : -1;
    if (exactness > best.exactness) best = { quality, exactness };
  }
  const isWild = type === '*/*' && best.exactness < 0 && ranges.some(({ quality }) => quality > 0);
  return isWild ? { quality: 0.001, exactness: 0 } : best;
}

/** Returns a media type without its parameters. */
function bareType(mediaType: string): string {
  return (mediaType.split(';')[0] as string).trim().toLowerCase();
}
