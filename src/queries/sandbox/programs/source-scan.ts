/** What a function's source shows without running it. If the source leaves a doubt, the answer is the safe one. */

/** Longer sources are not looked at: a regular expression can't be stopped, and may take more than linear time on a stranger's text. */
const MAX_LENGTH = 10_000;

/**
 * What may change a document that was passed: assignments to members, `delete`, and methods that change their object.
 * Comments and strings count as well.
 */
const CHANGES = new RegExp(
  [
    // a.b = c, a[b] += c, a.b++, (a.b) = c, and the same with a comment in front of the operator
    /(?:\.\s*(?:[\w$]|[^\0-\x7f])+|[\])]|\*\/)\s*(?:(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^])?=(?![=>])|\+\+|--)/,
    // a./* */b, and a line comment, after which anything may follow
    /\.\s*\/[*/]|\/\//,
    // ++a.b, for (a.b of c)
    /(?:\+\+|--|\bfor\s*\()\s*[\w$]+\s*[.[]/,
    // [a.b] = c, ({c: a.b} = d)
    /[[{][^\]}.]*\.[^\]}]*[\]}]\s*=(?![=>])/,
    // methods that change their object, and ways to call them that a name doesn't show
    /\b(?:delete|push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|assign|set|define\w+|setPrototypeOf|__\w+)\b/,
    /\b(?:call|apply|bind|Reflect|Object|require|eval|Function|constructor|this|arguments)\b|\]\s*(?:\?\.)?\s*[(`]|\\u/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Returns whether documents must be frozen, so that this map does not change them for the next one. */
export function mayChangeDocuments(source: string): boolean {
  return source.length > MAX_LENGTH || CHANGES.test(source);
}

/** What a function could do to see more of a document than its text names. */
const REFLECTION = /\\u|\b(?:arguments|eval|with|Function|constructor|callee|caller)\b/;
const FUNCTION_HEAD =
  /^\s*(?:function\b\s*[\w$]*\s*\(\s*([A-Za-z_$][\w$]*)\s*[,)]|\(\s*([A-Za-z_$][\w$]*)\s*\)\s*=>|([A-Za-z_$][\w$]*)\s*=>)/;
/** After the parameter's name: a member by name (all ASCII), or `&&`, whose left side is never the result here, since documents are truthy. */
const MEMBER =
  /^\s*(?:\?\.|\.(?!\.))\s*([A-Za-z_$][\w$]*)(?![\w$]|[^\0-\x7f])|^\s*\[\s*(?:'([\w $-]+)'|"([\w $-]+)")\s*\]|^\s*&&/;

/**
 * Returns the members of its document that a map function can see, or undefined if the source does not show that: then it gets all.
 * Only the text is checked: wherever the parameter's name occurs, in comments and strings too, a member must follow.
 */
export function membersUsed(source: string): ReadonlySet<string> | undefined {
  if (source.length > MAX_LENGTH) return undefined;
  const head = FUNCTION_HEAD.exec(source);
  const parameter = head?.[1] ?? head?.[2] ?? head?.[3];
  if (head === null || parameter === undefined || REFLECTION.test(source)) return undefined;
  const members = new Set<string>();
  const bodyStart = head[0].length;
  const name = parameter.replaceAll('$', '\\$');
  for (const { index } of source.slice(bodyStart).matchAll(new RegExp(`(?<![\\w$])${name}(?![\\w$])`, 'g'))) {
    const found = MEMBER.exec(source.slice(bodyStart + index + parameter.length));
    if (found === null) return undefined;
    const member = found[1] ?? found[2] ?? found[3];
    if (member === undefined) continue;
    // Inherited members, such as `toString`, may show other members.
    if (member in {}) return undefined;
    members.add(member);
  }
  return members;
}
