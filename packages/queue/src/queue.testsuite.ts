/** What both backends promise. Run by `redis.test.ts` and `postgres.test.ts` against real servers. */
import { boardContract } from './board.testsuite.ts'
import { deliveryContract } from './delivery.testsuite.ts'
import type { StoreUnderTest } from './ground.testsuite.ts'
import { outageContract } from './outage.testsuite.ts'
import { workerLifeContract } from './worker-life.testsuite.ts'

export function queueContract(store: StoreUnderTest): void {
  deliveryContract(store)
  workerLifeContract(store)
  outageContract(store)
  boardContract(store)
}
