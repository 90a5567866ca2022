import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A name node and two data nodes on this machine: prints its WebHDFS address and runs until standard input ends. */
public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set("dfs.permissions.enabled", "true");
        configuration.setInt("dfs.replication", 1);
        // Tokens as a cluster with Kerberos gives them, without Kerberos.
        configuration.setBoolean("dfs.namenode.delegation.token.always-use", true);
        // Other network namespaces reach it by the address that is given.
        if (args.length > 1) {
            for (String key : new String[] {"dfs.namenode.http-address", "dfs.datanode.http.address", "dfs.datanode.address", "dfs.datanode.ipc.address"})
                configuration.set(key, args[1] + ":0");
            configuration.set("dfs.datanode.hostname", args[1]);
        }
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration, new File(args[0])).numDataNodes(2).build();
        cluster.waitActive();
        cluster.getFileSystem().mkdirs(new org.apache.hadoop.fs.Path("/user/oarfish"));
        cluster.getFileSystem().setOwner(new org.apache.hadoop.fs.Path("/user/oarfish"), "oarfish", "oarfish");
        System.out.println("hdfs://" + (args.length > 1 ? args[1] : "127.0.0.1") + ":" + cluster.getNameNode().getHttpAddress().getPort());
        while (System.in.read() >= 0) { }
        cluster.shutdown();
    }
}
