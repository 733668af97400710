import { describeRedis } from '../../../tests/setup/fixtures.ts'
import { killedAndResumed } from './demo.testsuite.ts'

describeRedis('the examples on the redis queue', (url) => killedAndResumed(['inventory'], url))
