/**
 * One CommonJS module of lodash to one ES module, with jscodeshift. Besides `require` and `module.exports` it knows two
 * things that would silently change meaning in an ES module and have an exact equivalent there:
 *
 * - *Module detection* (`typeof exports == 'object' …`, in three modules): under CommonJS it is always true, so its names
 *   become `true` and fold away; `freeModule.require('util')` becomes an import of `node:util`.
 * - *`this`*: CommonJS modules are sloppy, where `this` of a plain call is the global object and a primitive `this` is
 *   boxed. `Object(this ?? globalThis)` is that rule written out; it returns any object itself.
 *
 * Imports run before the module's own code where requires ran in the middle of it; lodash's requires come first, and no
 * module depends on itself through others, so the order of evaluation stays. What has no exact equivalent is refused with
 * its reason, or left to the check.
 */
import jscodeshift, { type ASTNode, type ASTPath, type CallExpression, type Collection, type Identifier } from 'jscodeshift'
import { bundles } from './modules.ts'

export type Transformed = { readonly source: string } | { readonly refused: string }

const j = jscodeshift.withParser('babylon')
const detectors: ReadonlySet<string> = new Set(['freeExports', 'freeModule', 'moduleExports'])
const commonJs: ReadonlySet<string> = new Set(['require', 'module', 'exports'])

/** @param path file name, for the reasons only. @param source CommonJS text. Returns ES module text, or why there is none. */
export function transformModule(path: string, source: string): Transformed {
  const root: Collection<unknown> = j(source)
  const imports = new Map<string, string>()
  const required = root.find(j.CallExpression, { callee: { type: 'Identifier', name: 'require' } })
  const foreign = required.nodes().map(requiredId).find((id) => bundles.has(`${id.slice(2)}.js`) || !/^\.\/\w+$/.test(id))
  if (foreign !== undefined) {
    return { refused: `${path} only hands on ${foreign}, which is not migrated itself: the result would stay a wrapper over CommonJS` }
  }
  foldDetection(root, imports)
  required.forEach((call) => liftRequire(call, imports))
  root.find(j.ThisExpression).replaceWith(() => j.template.expression`Object(this ?? globalThis)`)

  const exported = root.find(j.AssignmentExpression, { left: { object: { name: 'module' }, property: { name: 'exports' } } })
  if (exported.length !== 1) return { refused: `${path} assigns module.exports ${exported.length} times; a default export is made from exactly one` }
  exported.forEach((assignment) => assignment.parent.replace(j.exportDefaultDeclaration(assignment.node.right)))

  const reassigned = root.find(j.AssignmentExpression).nodes().find(({ left }) => left.type === 'Identifier' && imports.has(left.name))
  if (reassigned) return { refused: `${path} assigns to a required name; an import cannot be assigned to` }
  const left = root.find(j.Identifier).filter((name) => commonJs.has(name.node.name) && isFree(name)).nodes()[0]
  if (left) return { refused: `${path} uses '${left.name}' in a way that has no equivalent in an ES module` }

  const lines = [...imports].map(([name, from]) => `import ${name} from '${from}';`)
  return { source: `${[lines.join('\n'), root.toSource().trim()].filter((part) => part !== '').join('\n\n')}\n` }
}

function requiredId(call: CallExpression): string {
  const [id] = call.arguments
  return call.arguments.length === 1 && id?.type === 'StringLiteral' ? id.value : 'something computed'
}

/** `var x = require('./y')` gives its own name to the import; a require inside an expression is named after its module. */
function liftRequire(call: ASTPath<CallExpression>, imports: Map<string, string>): void {
  const id = requiredId(call.node)
  const holder: ASTNode = call.parent.node
  if (holder.type === 'VariableDeclarator' && holder.id.type === 'Identifier') {
    imports.set(holder.id.name, `${id}.js`)
    call.parent.prune()
  } else {
    imports.set(id.slice(2), `${id}.js`)
    call.replace(j.identifier(id.slice(2)))
  }
}

/** Under CommonJS every detector is true: drop their declarations, put `true` for their uses, fold `true && x` and `true ? x : y`. */
function foldDetection(root: Collection<unknown>, imports: Map<string, string>): void {
  root.find(j.CallExpression, { callee: { object: { name: 'freeModule' }, property: { name: 'require' } } }).forEach((call) => {
    const id = requiredId(call.node)
    imports.set(id, `node:${id}`)
    call.replace(j.identifier(id))
  })
  root.find(j.VariableDeclarator, ({ id }) => id?.type === 'Identifier' && detectors.has(id.name)).forEach((path) => path.prune())
  const isTrue = (node: ASTNode): boolean => {
    const base = node.type === 'MemberExpression' ? node.object : node
    return base.type === 'Identifier' && detectors.has(base.name)
  }
  root.find(j.LogicalExpression, { operator: '&&' }).paths().reverse()
    .forEach((path) => { if (isTrue(path.node.left)) path.replace(path.node.right) })
  root.find(j.ConditionalExpression).forEach((path) => { if (isTrue(path.node.test)) path.replace(path.node.consequent) })
}

/** Whether a name is read from outside the module, rather than declared in it or used as the name of a property. */
function isFree(name: ASTPath<Identifier>): boolean {
  const parent: ASTNode = name.parent.node
  const isProperty = parent.type === 'MemberExpression' && parent.property === name.node && !parent.computed
  return !isProperty && name.scope.lookup(name.node.name) === null
}
