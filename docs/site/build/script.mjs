/** What a block of code becomes so that a page can run it: the body of an asynchronous function, whose variables the next block sees. */
import { parseAst } from 'vite';

/**
 * Its variables are set without being declared: the page declares them, as `names`. Modules come from `setteeImport`, except files of the
 * block's app, whose variables are there. `setteeFollow` runs a loop over live changes, which has no end. The function returns the value of
 * the last statement, or the variables that it declares. Throws if it can't be parsed.
 */
export function toRunnable(code) {
  const { body } = parseAst(code);
  const names = [...new Set(body.flatMap(namesOf))];
  const edits = body.flatMap((statement, index) => editsOf(statement, code, index === body.length - 1));
  let text = code;
  for (const { start, end, to } of edits.sort((one, other) => other.start - one.start))
    text = text.slice(0, start) + to + text.slice(end);
  return { text: text.trim(), names };
}

/** The modules that a block imports. */
export function importsOf(code) {
  return [...code.matchAll(/^(?:import|export)\b(?! type\b).*? from '([^']+)';$/gms)].map(([, name]) => name);
}

/** What a script imports from files beside it. */
export function namesFromFiles(code) {
  return parseAst(code)
    .body.filter(isOfFile)
    .flatMap(({ specifiers }) => specifiers.map(({ imported }) => imported.name));
}

export function exportsOf(code) {
  return parseAst(code)
    .body.filter(({ type }) => type === 'ExportNamedDeclaration')
    .flatMap(namesOf);
}

function isOfFile({ type, source }) {
  return type === 'ImportDeclaration' && source.value.startsWith('./');
}

function namesOf(statement) {
  switch (statement.type) {
    case 'ImportDeclaration':
      return statement.specifiers.map(({ local }) => local.name);
    case 'VariableDeclaration':
      return statement.declarations.flatMap(({ id }) => namesIn(id));
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [statement.id.name];
    case 'ExportNamedDeclaration':
      return statement.declaration ? namesOf(statement.declaration) : [];
    default:
      return [];
  }
}

function namesIn(pattern) {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((one) => namesIn(one.type === 'RestElement' ? one.argument : one.value));
    case 'ArrayPattern':
      return pattern.elements.flatMap((one) => (one === null ? [] : namesIn(one)));
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    default:
      return [];
  }
}

function editsOf(statement, code, isLast) {
  const { start, end } = statement;
  const source = (node) => code.slice(node.start, node.end);
  switch (statement.type) {
    case 'ImportDeclaration': {
      if (isOfFile(statement)) return [{ start, end, to: '' }];
      const parts = statement.specifiers.map(({ imported, local }) => `${imported?.name ?? 'default'}: ${local.name}`);
      return [
        {
          start,
          end,
          to: `({ ${parts.join(', ')} } = await setteeImport(${JSON.stringify(statement.source.value)}));`,
        },
      ];
    }
    case 'VariableDeclaration': {
      const set = statement.declarations.map(
        ({ id, init }) => `(${source(id)} = ${init ? source(init) : 'undefined'});`,
      );
      const names = namesOf(statement);
      const value = names.length === 1 ? names[0] : `{ ${names.join(', ')} }`;
      return [{ start, end, to: `${set.join(' ')}${isLast ? ` return ${value};` : ''}` }];
    }
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [{ start, end, to: `${statement.id.name} = ${source(statement)};` }];
    case 'ExportNamedDeclaration':
      return statement.declaration
        ? [{ start, end: statement.declaration.start, to: '' }, ...editsOf(statement.declaration, code, false)]
        : [{ start, end, to: '' }];
    case 'ForOfStatement':
      return statement.await && /\blive: true\b/.test(source(statement.right))
        ? [{ start, end, to: `await setteeFollow(async (console) => {\n${source(statement)}\n});` }]
        : [];
    case 'ExpressionStatement':
      return isLast ? [{ start, end, to: `return (${source(statement.expression)});` }] : [];
    default:
      return [];
  }
}
