/** In place of Node's module: the ledger's side makes keys and digests; pages only show them. */
export const createHash = (): never => { throw new Error('A page makes no hashes: what needs one is computed by the producer.') }
