/** In place of Node's module: the ledger's side makes keys and digests; pages only show them. */
const refuse = (): never => { throw new Error('A page makes no hashes: what needs one is computed by the producer.') }
export const createHash = refuse
export const randomUUID = refuse
